//! The objects of a controller in a Kubernetes cluster. They show what the state store has, and take requests; they decide nothing.
//!
//! | part | module |
//! | --- | --- |
//! | the kinds | `managed_cluster`, `plan_request`, `source` |
//! | what waits to be written | `queue` |
//! | each replica writes the `ManagedCluster` objects of its clusters | `publish` |
//! | and offers their plans that wait as `ExternalArtifact` objects of Flux | `artifacts` |
//! | one replica writes the status of each `Source` object | `sources` |
//! | one replica serves `PlanRequest` objects, and removes objects of clusters that are gone | `lead`, `requests`, `sweep` |
//!
//! The API server may be away: what was not written waits in memory, one status for each cluster.

mod artifacts;
mod common;
mod connection;
mod lead;
mod managed_cluster;
mod plan_request;
mod publish;
mod queue;
mod requests;
mod source;
mod sources;
mod sweep;

use serde_json::Value as Json;
use slipway_controller::kube::CustomResourceExt as _;
use tokio_util::sync::CancellationToken;

use crate::configuration::KubernetesSettings;
use crate::shared::Shared;
use crate::status::{SourceStatus, Status};
use connection::Connection;
use publish::Publisher;
use queue::Queue;

pub(crate) use artifacts::Offer;
pub use common::PlanSummary;
pub(crate) use lead::lease_name;
pub use managed_cluster::{Applied, ManagedCluster, ManagedClusterSpec, ManagedClusterStatus, ObjectProblem};
pub use plan_request::{PlanRequest, PlanRequestSpec, PlanRequestStatus};
pub use source::{GitLocation, OciLocation, Source, SourceObjectStatus, SourceSpec};

/// The group of all kinds.
pub(crate) const GROUP: &str = "gitops.slipway.dev";

/// The field manager of all writes.
const MANAGER: &str = "slipway-controller";

/// What waits to be written to objects. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The statuses of clusters; `None` for a cluster that is gone.
    pub clusters: Queue<Option<Status>>,
    /// The statuses of sources.
    pub sources: Queue<SourceStatus>,
    /// The plans of clusters that wait; `None` for a cluster without one.
    pub plans: Queue<Option<Offer>>,
}

/// The custom resource definitions of all kinds.
#[must_use]
pub fn definitions() -> Vec<Json> {
    let all = [ManagedCluster::crd(), PlanRequest::crd(), Source::crd()];
    all.iter().map(|definition| serde_json::to_value(definition).unwrap_or_default()).collect()
}

/// Writes and serves the objects until the stop. After that, what waits is written once more, for a few seconds.
///
/// It never fails: while the API server does not answer or refuses, attempts are repeated with growing waits.
pub(crate) async fn work(
    shared: &Shared,
    settings: &KubernetesSettings,
    replica: &str,
    stop: &CancellationToken,
) {
    let Some(connection) = Connection::open(shared, settings, replica, stop).await else { return };
    let waiting = shared.objects.clone().unwrap_or_default();
    let mut publisher = Publisher::new(&connection, waiting.clusters);
    let sources = sources::run(&connection, waiting.sources, stop);
    let plans = artifacts::run(&connection, waiting.plans, stop);
    tokio::join!(publisher.run(stop), sources, lead::run(&connection, stop), plans);
}
