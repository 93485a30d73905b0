//! The manager: it serves the registration API, waits until it leads, and runs the controllers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use slipway_controller::kube::core::{DynamicResourceScope, NamespaceResourceScope};
use slipway_controller::kube::{self, Api, Client, Resource, discovery};
use slipway_controller::runtime::watcher;
use slipway_controller::{
    ConnectError, Election, ElectionError, Events, Health, Leader, Metrics as Registry, TermsError, Watched,
    connect, process_identity, serve, stop_on_signals, watch,
};
use slipway_limits::{file, size};
use tokio_util::sync::CancellationToken;

use crate::arguments::ManagerArguments;
use crate::context::Context;
use crate::control;
use crate::core_api::{self, CoreVersion};
use crate::metrics::Metrics;
use crate::server::{self, ServerError};
use crate::workload::Workloads;
use crate::world::Watches;

/// The name of the component in events.
const COMPONENT: &str = "slipway-machine-inventory";
/// The time between two looks for the kinds of Cluster API.
const LOOK: Duration = Duration::from_secs(5);

/// The program ended otherwise than by a signal.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
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
    /// A file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// There is no client for the API of the cluster.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The registration API cannot be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The lease was lost.
    #[error(transparent)]
    Election(#[from] ElectionError),
}

/// Runs until a signal asks for the end.
///
/// # Errors
/// When an argument or the API cannot be used, or when the lease is lost.
pub async fn run(arguments: ManagerArguments) -> Result<(), ProgramError> {
    let terms = arguments.terms()?;
    let stop = stop_on_signals()?;
    let (health, registry) = (Health::default(), Registry::default());
    let metrics = Metrics::new(&registry);
    health.waits("cluster-api", "its kinds were not looked for yet");
    let address = SocketAddr::new(arguments.bind_address, arguments.port);
    let served = serve(address, health.clone(), registry, stop.clone())
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
    let api_authority = authority(&arguments)?;
    let client = connect(arguments.kubeconfig.as_deref()).await?;
    // Every replica serves it: its writes name the version of the object that was read.
    let registration_api = server::start(&arguments, client.clone(), stop.clone()).await?;
    let work = Work { arguments, api_authority, metrics, identity, health };
    let outcome = work.lead(&election, &client, &stop).await;
    stop.cancel();
    registration_api.ended().await;
    served.ended().await;
    outcome
}

fn authority(arguments: &ManagerArguments) -> Result<Option<String>, ProgramError> {
    let Some(path) = &arguments.api_ca_file else { return Ok(None) };
    let text = file::read_given_text(path, size::CONFIGURATION);
    text.map(Some).map_err(|cause| ProgramError::Unreadable { path: path.clone(), cause })
}

struct Work {
    arguments: ManagerArguments,
    api_authority: Option<String>,
    metrics: Metrics,
    identity: String,
    health: Health,
}

impl Work {
    async fn lead(
        &self,
        election: &Election,
        client: &Client,
        stop: &CancellationToken,
    ) -> Result<(), ProgramError> {
        let Some(core) = self.core(client, stop).await else { return Ok(()) };
        if !self.arguments.leader_elect {
            self.control(client.clone(), core, stop).await;
            return Ok(());
        }
        let work = |leader: Leader| async move {
            self.metrics.leads.set(1);
            self.control(leader.client, core, &leader.stop).await;
            self.metrics.leads.set(0);
        };
        election.lead(client, stop, work).await?;
        Ok(())
    }

    /// Waits until Cluster API is installed; returns the version of its kinds. `None` if the stop came first.
    async fn core(&self, client: &Client, stop: &CancellationToken) -> Option<CoreVersion> {
        loop {
            let problem = match discovery::group(client, core_api::GROUP).await {
                Ok(group) => {
                    let versions: Vec<&str> = group.versions().collect();
                    let known = [CoreVersion::V1Beta2, CoreVersion::V1Beta1];
                    if let Some(version) = known.into_iter().find(|one| versions.contains(&one.as_str())) {
                        self.health.ready("cluster-api");
                        tracing::info!(version = version.as_str(), "Cluster API is installed");
                        return Some(version);
                    }
                    format!("group {} has the versions {versions:?} only", core_api::GROUP)
                }
                Err(kube::Error::Discovery(_)) => format!("group {} is not installed", core_api::GROUP),
                Err(error) => slipway_resource::with_causes(&error),
            };
            tracing::info!(problem, "waiting for Cluster API");
            self.health.waits("cluster-api", problem);
            tokio::select! {
                () = stop.cancelled() => return None,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn control(&self, client: Client, core: CoreVersion, stop: &CancellationToken) {
        let Some(watches) = self.watches(&client, core, stop).await else { return };
        tracing::info!("the controllers run");
        let context = Context {
            events: Events::of(&client, COMPONENT, &self.identity),
            client,
            core,
            workloads: Workloads::default(),
            metrics: self.metrics.clone(),
            api_url: self.arguments.api_url.clone(),
            api_authority: self.api_authority.clone(),
            watch_filter: self.arguments.watch_filter.clone(),
        };
        control::run(&context, watches, stop).await;
    }

    async fn watches(&self, client: &Client, core: CoreVersion, stop: &CancellationToken) -> Option<Watches> {
        let place = self.arguments.namespace.as_deref();
        let (clusters, machines, elemental_clusters, elemental_machines, hosts, registrations) = tokio::join!(
            watched(core_objects(client, place, core), stop),
            watched(core_objects(client, place, core), stop),
            watched(own_objects(client, place), stop),
            watched(own_objects(client, place), stop),
            watched(own_objects(client, place), stop),
            watched(own_objects(client, place), stop),
        );
        Some(Watches {
            clusters: clusters?,
            machines: machines?,
            elemental_clusters: elemental_clusters?,
            elemental_machines: elemental_machines?,
            hosts: hosts?,
            registrations: registrations?,
        })
    }
}

/// The objects of Cluster API in a namespace, or in all of them.
fn core_objects<K>(client: &Client, namespace: Option<&str>, version: CoreVersion) -> Api<K>
where
    K: Resource<Scope = DynamicResourceScope, DynamicType = CoreVersion>,
{
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &version),
        None => Api::all_with(client.clone(), &version),
    }
}

/// The objects of the provider in a namespace, or in all of them.
fn own_objects<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

async fn watched<K>(api: Api<K>, stop: &CancellationToken) -> Option<Watched<K>>
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: std::fmt::Debug + Default + Eq + std::hash::Hash + Clone,
{
    watch(api, watcher::Config::default(), stop).await
}
