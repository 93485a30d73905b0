//! The context of a leader's controllers.

use slipway_controller::Events;
use slipway_controller::k8s_openapi::api::core::v1::Node;
use slipway_controller::kube::{Api, Client};

use crate::arguments::Arguments;
use crate::cloud::Cloud;
use crate::metrics::Metrics;

/// The context of a leader's controllers.
pub(crate) struct Context {
    pub(crate) arguments: Arguments,
    pub(crate) client: Client,
    pub(crate) nodes: Api<Node>,
    pub(crate) cloud: Cloud,
    pub(crate) metrics: Metrics,
    /// The name of this process in events.
    pub(crate) identity: String,
}

impl Context {
    /// Events of one of the controllers.
    pub(crate) fn events(&self, component: &str) -> Events {
        Events::of(&self.client, component, &self.identity)
    }
}
