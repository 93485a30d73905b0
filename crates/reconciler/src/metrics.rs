//! The metrics of a controller.

use slipway_controller::prometheus_client::metrics::counter::Counter;
use slipway_controller::prometheus_client::metrics::family::Family;
use slipway_controller::prometheus_client::metrics::gauge::Gauge;
use slipway_controller::prometheus_client::metrics::histogram::Histogram;

/// A label with its value.
pub(crate) type Label = [(&'static str, String); 1];

/// Two labels with their values.
pub(crate) type Labels = [(&'static str, String); 2];

/// The metrics. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// Reads of sources, by outcome.
    pub reads: Family<Label, Counter>,
    /// Webhooks, by source and outcome.
    pub webhooks: Family<Labels, Counter>,
    /// Reviews of pull requests, by outcome.
    pub reviews: Family<Label, Counter>,
    /// Messages to receivers of notifications, by receiver and outcome.
    pub notifications: Family<Labels, Counter>,
    /// Writes of objects in Kubernetes, by outcome.
    pub objects: Family<Label, Counter>,
    /// Plans that were made, by outcome.
    pub plans: Family<Label, Counter>,
    /// Plans that were applied, by outcome.
    pub applies: Family<Label, Counter>,
    /// Seconds of a plan.
    pub plan_seconds: Histogram,
    /// Seconds of an apply.
    pub apply_seconds: Histogram,
    /// Failed attempts, by their code.
    pub failures: Family<Label, Counter>,
    /// Calls of providers, by provider and outcome.
    pub calls: Family<Labels, Counter>,
    /// Calls of providers that were repeated.
    pub retries: Counter,
    /// Steps that are done.
    pub steps: Counter,
    /// Clusters of this replica, by the reason of their condition `Ready`.
    pub clusters: Family<Label, Gauge>,
    /// Resources of clusters of this replica that were changed outside Slipway.
    pub drift: Gauge,
    /// Clusters that wait for a worker.
    pub queue: Gauge,
    /// Clusters that are planned or applied now.
    pub busy: Gauge,
    /// Replicas of the controller.
    pub replicas: Gauge,
}

/// 0.1 s to 27 min, each twice the one before.
fn seconds() -> Histogram {
    Histogram::new((0..15).map(|power| f64::from(1_u32 << power) / 10.0))
}

impl Metrics {
    pub fn new(registry: &slipway_controller::Metrics) -> Self {
        let name = |name: &str| format!("slipway_controller_{name}");
        let family = |of: &str, help| registry.register(&name(of), help, Family::<Label, Counter>::default());
        let gauge = |of: &str, help| registry.register(&name(of), help, Gauge::default());
        let counter = |of: &str, help| registry.register(&name(of), help, Counter::default());
        Self {
            reads: family("source_reads", "Reads of sources by outcome"),
            webhooks: registry.register(
                &name("webhooks"),
                "Webhooks by source and outcome",
                Family::default(),
            ),
            notifications: registry.register(
                &name("notifications"),
                "Messages to receivers of notifications by name and outcome",
                Family::default(),
            ),
            reviews: family("reviews", "Reviews of pull requests by outcome"),
            objects: family("objects", "Writes of objects in Kubernetes by outcome"),
            plans: family("plans", "Plans that were made by outcome"),
            applies: family("applies", "Plans that were applied by outcome"),
            failures: family("failures", "Failed attempts by error code"),
            plan_seconds: registry.register(&name("plan_seconds"), "Duration of plans", seconds()),
            apply_seconds: registry.register(&name("apply_seconds"), "Duration of applies", seconds()),
            calls: registry.register(
                &name("provider_calls"),
                "Calls of providers by provider and outcome",
                Family::default(),
            ),
            retries: counter("retries", "Calls of providers that were repeated"),
            steps: counter("steps", "Steps that are done"),
            clusters: registry.register(
                &name("clusters"),
                "Clusters of this replica by the reason of their condition Ready",
                Family::default(),
            ),
            drift: gauge("drifted_resources", "Resources that were changed outside Slipway"),
            queue: gauge("queue", "Clusters that wait for a worker"),
            busy: gauge("busy", "Clusters that are planned or applied now"),
            replicas: gauge("replicas", "Replicas of the controller"),
        }
    }
}

/// A label of a counter by outcome.
pub(crate) fn outcome(outcome: &str) -> Label {
    [("outcome", outcome.to_owned())]
}

#[cfg(test)]
mod tests;
