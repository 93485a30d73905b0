//! The program: it starts the provider, waits until it leads, and runs the controllers.

use std::net::{Ipv4Addr, SocketAddr};

use slipway_controller::k8s_openapi::api::core::v1::{Node, Service};
use slipway_controller::kube::{Api, Client};
use slipway_controller::runtime::watcher;
use slipway_controller::{
    CertificateError, ConnectError, Election, ElectionError, Health, Metrics as Registry, SecureEndpoints,
    ServingCertificate, TermsError, connect, process_identity, serve, serve_secure, stop_on_signals, watch,
};
use tokio_util::sync::CancellationToken;

use crate::arguments::{Arguments, UnknownController};
use crate::chosen::Chosen;
use crate::cidr::RangeError;
use crate::cloud::{Cloud, CloudError, Provider};
use crate::configuration::configuration;
use crate::context::Context;
use crate::metrics::Metrics;
use crate::{ipam, lifecycle, nodes, routes, services};

/// The program ended otherwise than by a signal.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// `--controllers` cannot be used.
    #[error(transparent)]
    Controllers(#[from] UnknownController),
    /// The address ranges cannot be used.
    #[error(transparent)]
    Ranges(#[from] RangeError),
    /// The times of the election cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The system refuses what every process needs: signals, random numbers.
    #[error("the system does not give what is needed")]
    System(#[from] std::io::Error),
    /// The endpoints cannot be served.
    #[error("{address} cannot be served")]
    Serve {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The secure port has no certificate.
    #[error("--secure-port needs --tls-cert-file and --tls-private-key-file")]
    NoCertificate,
    /// The certificate of the secure port cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// There is no client for the API of the cluster.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The provider cannot be used.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    /// The provider has ended by itself.
    #[error("{0}")]
    ProviderEnded(String),
    /// The lease was lost.
    #[error(transparent)]
    Election(#[from] ElectionError),
}

/// Runs until a signal asks for the end.
///
/// # Errors
/// When an argument, the API or the provider cannot be used, when the provider ends, or when the lease is lost.
pub async fn run(arguments: Arguments) -> Result<(), ProgramError> {
    let (mut chosen, terms) = (Chosen::by(&arguments)?, arguments.terms()?);
    let stop = stop_on_signals()?;
    let (health, registry) = (Health::default(), Registry::default());
    let metrics = Metrics::new(&registry, &arguments.cloud_provider);
    health.waits("provider", "no session yet");
    let certificate = certificate(&arguments)?;
    // The address is that of the secure port, if there is one. What has no TLS stays on the host then.
    let plain = if certificate.is_some() { Ipv4Addr::LOCALHOST.into() } else { arguments.bind_address };
    let address = SocketAddr::new(plain, arguments.port);
    let served = serve(address, health.clone(), registry.clone(), stop.clone())
        .await
        .map_err(|cause| ProgramError::Serve { address, cause })?;
    tracing::info!(address = %served.address, "serving /healthz, /readyz and /metrics");
    let identity = process_identity()?;
    let election = Election {
        namespace: arguments.leader_elect_resource_namespace.clone(),
        name: arguments.leader_elect_resource_name.clone(),
        identity: identity.clone(),
        terms,
    };
    let client = connect(arguments.kubeconfig.as_deref()).await?;
    let secure = match certificate {
        Some(certificate) => {
            let configuration = configuration(&arguments).to_string().into();
            let endpoints = SecureEndpoints { health: health.clone(), metrics: registry, configuration };
            let address = SocketAddr::new(arguments.bind_address, arguments.secure_port);
            let served = serve_secure(address, certificate, client.clone(), endpoints, stop.clone())
                .await
                .map_err(|cause| ProgramError::Serve { address, cause })?;
            tracing::info!(secure = %served.address, "serving /metrics and /configz over TLS");
            Some(served)
        }
        None => None,
    };
    let provider = Provider::start(&arguments, chosen.needs()).await?;
    chosen.restrict(&arguments.cloud_provider, provider.capabilities);
    health.ready("provider");
    let cloud = provider.cloud(&arguments, &metrics);
    let work = Work { arguments, chosen, cloud, metrics, identity };
    let outcome = tokio::select! {
        how = provider.ended() => Err(ProgramError::ProviderEnded(how)),
        outcome = work.lead(&election, &client, &stop) => outcome,
    };
    provider.end().await;
    stop.cancel();
    served.ended().await;
    if let Some(secure) = secure {
        secure.ended().await;
    }
    outcome
}

/// The certificate of the secure port; `None` if the port is off.
fn certificate(arguments: &Arguments) -> Result<Option<ServingCertificate>, ProgramError> {
    if arguments.secure_port == 0 {
        return Ok(None);
    }
    match (&arguments.tls_cert_file, &arguments.tls_private_key_file) {
        (Some(chain), Some(key)) => Ok(Some(ServingCertificate::read(chain, key)?)),
        _ => Err(ProgramError::NoCertificate),
    }
}

struct Work {
    arguments: Arguments,
    chosen: Chosen,
    cloud: Cloud,
    metrics: Metrics,
    identity: String,
}

impl Work {
    async fn lead(
        &self,
        election: &Election,
        client: &Client,
        stop: &CancellationToken,
    ) -> Result<(), ProgramError> {
        if !self.arguments.leader_elect {
            self.control(client.clone(), self.cloud.clone(), stop).await;
            return Ok(());
        }
        let work = |leader: slipway_controller::Leader| async move {
            self.metrics.leads.set(1);
            self.control(leader.client, self.cloud.inside(leader.fence), &leader.stop).await;
            self.metrics.leads.set(0);
        };
        election.lead(client, stop, work).await?;
        Ok(())
    }

    async fn control(&self, client: Client, cloud: Cloud, stop: &CancellationToken) {
        let nodes: Api<Node> = Api::all(client.clone());
        let Some(watched) = watch(nodes.clone(), watcher::Config::default(), stop).await else { return };
        let context = Context {
            arguments: self.arguments.clone(),
            client,
            nodes,
            cloud,
            metrics: self.metrics.clone(),
            identity: self.identity.clone(),
        };
        let chosen = &self.chosen;
        let node = async {
            if chosen.node {
                nodes::run(&context, watched.clone(), stop).await;
            }
        };
        let lifecycle = async {
            if chosen.lifecycle {
                lifecycle::run(&context, watched.clone(), stop).await;
            }
        };
        let service = async {
            if chosen.service {
                let services: Api<Service> = Api::all(context.client.clone());
                if let Some(services) = watch(services, watcher::Config::default(), stop).await {
                    services::run(&context, services, watched.clone(), stop).await;
                }
            }
        };
        let route = async {
            if let Some(cluster) = &chosen.route {
                routes::run(&context, cluster, watched.clone(), stop).await;
            }
        };
        let ipam = async {
            if let Some(plan) = &chosen.ipam {
                ipam::run(&context, plan, watched.clone(), stop).await;
            }
        };
        tokio::join!(node, lifecycle, service, route, ipam);
        // Without controllers, the process leads and does nothing, as it was asked to.
        stop.cancelled().await;
    }
}
