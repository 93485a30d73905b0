//! The context of a leader's controllers.

use slipway_controller::kube::{Client, Resource};
use slipway_controller::{EventType, Events};

use crate::core_api::CoreVersion;
use crate::metrics::Metrics;
use crate::workload::Workloads;

/// The context of a leader's controllers.
pub(crate) struct Context {
    /// The client. It writes nothing after the lease was lost.
    pub(crate) client: Client,
    /// The version of Cluster API's own kinds.
    pub(crate) core: CoreVersion,
    /// Clients of the clusters that are made.
    pub(crate) workloads: Workloads,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    /// Address of the registration API as hosts reach it; without it, registrations must name one.
    pub(crate) api_url: Option<String>,
    /// Certificate of the authority of the registration API, in PEM.
    pub(crate) api_authority: Option<String>,
    /// The value of the label `cluster.x-k8s.io/watch-filter` of objects that this controller is for.
    pub(crate) watch_filter: Option<String>,
}

impl Context {
    /// Publishes an event of an object.
    pub(crate) async fn event<K>(&self, object: &K, kind: EventType, reason: &str, note: String)
    where
        K: Resource<DynamicType = ()>,
    {
        self.events.publish(&object.object_ref(&()), kind, reason, note).await;
    }
}
