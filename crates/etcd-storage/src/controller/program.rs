//! The controller as a process: it serves its endpoints, waits until it leads, and looks at every `EtcdStorage`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use slipway_controller::k8s_openapi::api::policy::v1::PodDisruptionBudget;
use slipway_controller::kube::{Client, Resource};
use slipway_controller::runtime::controller::{Config, Error as LookError};
use slipway_controller::runtime::reflector::{ObjectRef, Store};
use slipway_controller::runtime::{Controller, watcher};
use slipway_controller::{
    Election, Events, Health, Leader, Metrics as Registry, connect, process_identity, serve,
};
use tokio_util::sync::CancellationToken;

use crate::storage::EtcdStorage;

use super::context::Context;
use super::error::Error;
use super::metrics::Metrics;
use super::reconcile::{after_error, reconcile};
use super::settings::Settings;

/// The name of the Lease, and of the controller in events.
pub(crate) const NAME: &str = "etcdproxy-controller";
/// Changes of one moment are one look.
const GATHERING: Duration = Duration::from_millis(100);
/// How many `EtcdStorage` objects are looked at at the same time.
const AT_ONCE: u16 = 4;

/// Runs the controller until the stop.
///
/// # Errors
/// When the API, the address or a setting cannot be used, or when the lease is lost.
pub async fn run(settings: Settings, stop: CancellationToken) -> Result<(), Error> {
    for url in &settings.core_urls {
        crate::proxy::check_endpoint(url)?;
    }
    settings.terms.check()?;
    let registry = Registry::default();
    let metrics = Metrics::new(&registry);
    let address = settings.address;
    let served = serve(address, Health::default(), registry, stop.clone())
        .await
        .map_err(|source| Error::Serve { address, source })?;
    tracing::info!(address = %served.address, "serving /healthz, /readyz and /metrics");
    let identity = process_identity().map_err(Error::System)?;
    let client = connect(settings.kubeconfig.as_deref()).await?;
    let outcome = lead(settings, metrics, &identity, &client, &stop).await;
    stop.cancel();
    served.ended().await;
    outcome
}

async fn lead(
    settings: Settings,
    metrics: Metrics,
    identity: &str,
    client: &Client,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let context = |client: Client| {
        let events = Events::of(&client, NAME, identity);
        Arc::new(Context::new(client, settings.clone(), events, metrics.clone()))
    };
    if !settings.leader_elect {
        control(context(client.clone()), stop).await;
        return Ok(());
    }
    let election = Election {
        namespace: settings.namespace.clone(),
        name: NAME.to_owned(),
        identity: identity.to_owned(),
        terms: settings.terms,
    };
    let leads = &metrics.leads;
    let work = |leader: Leader| {
        let context = context(leader.client);
        async move {
            leads.set(1);
            control(context, &leader.stop).await;
            leads.set(0);
        }
    };
    election.lead(client, stop, work).await?;
    Ok(())
}

/// Looks at every `EtcdStorage` when it, or what belongs to it, has changed, until the stop. Looks that have begun are ended.
async fn control(context: Arc<Context>, stop: &CancellationToken) {
    let any = watcher::Config::default;
    let controller = Controller::new(context.storages(), any());
    let of_core = |name: &str| Concerned { storages: controller.store(), core: Some(name.to_owned()) };
    let (maps, secrets) =
        (of_core(&context.settings.core_ca_config_map), of_core(&context.settings.core_certs_secret));
    let owned = Concerned { storages: controller.store(), core: None };
    let (deployments, services, budgets) = (owned.clone(), owned.clone(), owned);
    let mut looks = std::pin::pin!(
        controller
            .watches(context.namespaced::<Deployment>(), any(), move |one| deployments.by(&one))
            .watches(context.namespaced::<Service>(), any(), move |one| services.by(&one))
            .watches(context.namespaced::<PodDisruptionBudget>(), any(), move |one| budgets.by(&one))
            .watches(context.namespaced::<ConfigMap>(), any(), move |one| maps.by(&one))
            .watches(context.namespaced::<Secret>(), any(), move |one| secrets.by(&one))
            .with_config(Config::default().debounce(GATHERING).concurrency(AT_ONCE))
            .graceful_shutdown_on(stop.clone().cancelled_owned())
            .run(reconcile, after_error, context)
    );
    while let Some(look) = looks.next().await {
        match look {
            Ok((storage, _)) => tracing::debug!(etcdstorage = storage.name, "looked at"),
            // Failed looks are logged where their next attempt is decided.
            Err(LookError::ReconcilerFailed(..)) => {}
            Err(LookError::ObjectNotFound(storage)) => tracing::debug!(etcdstorage = storage.name, "is gone"),
            Err(error) => {
                tracing::warn!(error = %slipway_resource::with_causes(&error), "a watch failed, and is started again")
            }
        }
    }
}

/// Knows which `EtcdStorage` objects an object of the namespace concerns.
#[derive(Clone)]
struct Concerned {
    storages: Store<EtcdStorage>,
    /// The name of the object that concerns all of them.
    core: Option<String>,
}

impl Concerned {
    /// All of them if the object is the core's, else its owner. The reference has no namespace, as that of a watched
    /// `EtcdStorage`: with one, an `EtcdStorage` would be looked at twice at the same time.
    fn by<K: Resource<DynamicType = ()>>(&self, object: &K) -> Vec<ObjectRef<EtcdStorage>> {
        if self.core.is_some() && object.meta().name == self.core {
            return self.storages.state().iter().map(|storage| ObjectRef::from_obj(&**storage)).collect();
        }
        let owners = object.meta().owner_references.iter().flatten();
        owners.filter_map(|owner| ObjectRef::from_owner_ref(None, owner, ())).collect()
    }
}
