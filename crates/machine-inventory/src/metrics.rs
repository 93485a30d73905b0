//! The metrics of the controllers.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use slipway_controller::prometheus_client;

/// The label of a kind of objects.
pub(crate) type KindLabel = [(&'static str, &'static str); 1];

/// The metrics.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// 1 while this process leads.
    pub(crate) leads: Gauge,
    /// Objects that could not be reconciled, by kind.
    pub(crate) failures: Family<KindLabel, Counter>,
    /// Hosts that were claimed by a machine.
    pub(crate) claims: Counter,
    /// Endpoints that were elected or moved.
    pub(crate) elections: Counter,
}

impl Metrics {
    pub(crate) fn new(registry: &slipway_controller::Metrics) -> Self {
        Self {
            leads: registry.leads(),
            failures: registry.register(
                "machine_inventory_failures",
                "Objects that could not be reconciled",
                Family::default(),
            ),
            claims: registry.register(
                "machine_inventory_claims",
                "Hosts claimed by a machine",
                Counter::default(),
            ),
            elections: registry.register(
                "machine_inventory_endpoint_elections",
                "Endpoints that were elected or moved",
                Counter::default(),
            ),
        }
    }
}
