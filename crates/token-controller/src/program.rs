//! The controller as a process: it serves its endpoints, waits until it leads, and works until a signal.

use std::net::SocketAddr;

use slipway_controller::{
    Election, Health, Leader, Metrics as Registry, connect, process_identity, serve, stop_on_signals,
};

use crate::arguments::ControllerArguments;
use crate::control;
use crate::error::Error;
use crate::metrics::Metrics;

/// The name of the controller, and of its Lease in `kube-system`.
pub const NAME: &str = "slipway-token-controller";

/// Runs the controller until a signal asks for its end.
///
/// # Errors
/// When the API, the address or a setting cannot be used, or when the lease is lost.
pub async fn run(arguments: ControllerArguments) -> Result<(), Error> {
    let terms = arguments.terms().check()?;
    let stop = stop_on_signals()?;
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let address = SocketAddr::new(arguments.bind_address, arguments.port);
    let served = serve(address, Health::default(), registry, stop.clone())
        .await
        .map_err(|source| Error::Serve { address, source })?;
    tracing::info!(address = %served.address, "serving /healthz, /readyz and /metrics");
    let identity = process_identity()?;
    let client = connect(arguments.kubeconfig.as_deref()).await?;
    let outcome = if arguments.leader_elect {
        let namespace = slipway_bootstrap::token::NAMESPACE.to_owned();
        let election = Election { namespace, name: NAME.to_owned(), identity, terms };
        let metrics = &metrics;
        let work = |leader: Leader| async move {
            metrics.leads.set(1);
            control::run(leader.client, metrics, &leader.stop).await;
            metrics.leads.set(0);
        };
        election.lead(&client, &stop, work).await.map(drop).map_err(Error::from)
    } else {
        control::run(client, &metrics, &stop).await;
        Ok(())
    };
    stop.cancel();
    served.ended().await;
    outcome
}
