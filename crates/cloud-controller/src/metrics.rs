//! The metrics of the controllers. Those that cloud controller managers of Kubernetes have keep their names.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use slipway_controller::prometheus_client;

/// The labels of a call to the provider: `call`, and `outcome`: `ok` or the class of the error.
pub(crate) type CallLabels = [(&'static str, String); 2];

/// The label of the metrics that cloud providers of Kubernetes have: `request`.
type RequestLabels = [(&'static str, String); 1];

/// The metrics.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// 1 while this process leads.
    pub(crate) leads: Gauge,
    /// Calls to the provider.
    pub(crate) calls: Family<CallLabels, Counter>,
    /// Seconds of the calls to the provider.
    pub(crate) request_duration: Family<RequestLabels, Histogram, fn() -> Histogram>,
    /// Calls to the provider that failed.
    pub(crate) request_errors: Family<RequestLabels, Counter>,
    /// Nodes that were deleted because their instance did not exist.
    pub(crate) nodes_deleted: Counter,
    /// Seconds between the creation of a node and the start of its initialisation.
    pub(crate) sync_delay: Histogram,
    /// Seconds between the creation of a node and the removal of its taint.
    pub(crate) taint_delay: Histogram,
    /// Attempts to bring a load balancer into its state.
    pub(crate) balancer_syncs: Counter,
    /// Attempts to change the nodes of a load balancer that failed.
    pub(crate) node_sync_errors: Counter,
    /// Seconds from a change of nodes until all load balancers have them.
    pub(crate) node_sync_latency: Histogram,
    /// Seconds of a change of the nodes of one load balancer.
    pub(crate) update_latency: Histogram,
}

/// 1 s to 17 min, each twice the one before.
fn delays() -> Histogram {
    Histogram::new((0..11).map(|power| f64::from(1_u32 << power)))
}

/// 10 ms to 82 s, each twice the one before.
fn durations() -> Histogram {
    Histogram::new((0..14).map(|power| f64::from(1_u32 << power) / 100.0))
}

impl Metrics {
    /// The metrics of a process that uses this provider.
    pub(crate) fn new(registry: &slipway_controller::Metrics, provider: &str) -> Self {
        let provider = provider.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        let of_provider = |rest: &str| format!("cloudprovider_{provider}_api_request_{rest}");
        Self {
            request_duration: registry.register(
                &of_provider("duration_seconds"),
                "Time of the calls to the provider",
                Family::new_with_constructor(durations as fn() -> Histogram),
            ),
            request_errors: registry.register(
                &of_provider("errors"),
                "Calls to the provider that failed",
                Family::default(),
            ),
            leads: registry.leads(),
            calls: registry.register(
                "cloud_controller_provider_calls",
                "Calls to the provider by outcome",
                Family::default(),
            ),
            nodes_deleted: registry.register(
                "cloud_controller_nodes_deleted",
                "Nodes deleted because their instance does not exist",
                Counter::default(),
            ),
            sync_delay: registry.register(
                "node_controller_initial_node_sync_delay_seconds",
                "Time between the creation of a node and the start of its initialisation",
                delays(),
            ),
            taint_delay: registry.register(
                "node_controller_cloud_provider_taint_removal_delay_seconds",
                "Time between the creation of a node and the removal of its taint",
                delays(),
            ),
            balancer_syncs: registry.register(
                "service_controller_loadbalancer_sync",
                "Attempts to bring a load balancer into its state",
                Counter::default(),
            ),
            node_sync_errors: registry.register(
                "service_controller_nodesync_error",
                "Attempts to change the nodes of a load balancer that failed",
                Counter::default(),
            ),
            node_sync_latency: registry.register(
                "service_controller_nodesync_latency_seconds",
                "Time from a change of nodes until all load balancers have them",
                delays(),
            ),
            update_latency: registry.register(
                "service_controller_update_loadbalancer_host_latency_seconds",
                "Time of a change of the nodes of one load balancer",
                delays(),
            ),
        }
    }
}
