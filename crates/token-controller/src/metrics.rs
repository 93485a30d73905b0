//! The metrics of the controller.

use slipway_controller::prometheus_client::metrics::counter::Counter;
use slipway_controller::prometheus_client::metrics::gauge::Gauge;

/// The metrics of the controller.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// 1 while this process leads.
    pub(crate) leads: Gauge,
    /// Writes of `cluster-info`.
    pub(crate) signed: Counter,
    /// Deleted tokens.
    pub(crate) deleted: Counter,
}

impl Metrics {
    pub(crate) fn new(registry: &slipway_controller::Metrics) -> Self {
        let signed = "Writes of cluster-info with other signatures";
        Self {
            leads: registry.leads(),
            signed: registry.register("token_controller_signed", signed, Counter::default()),
            deleted: registry.register(
                "token_controller_tokens_deleted",
                "Tokens deleted after their expiration",
                Counter::default(),
            ),
        }
    }
}
