//! The controllers that run: those of the flags, as far as the provider has what they need.

use ipnet::IpNet;
use slipway_resource::provider::Capabilities;

use crate::arguments::{Arguments, Controller};
use crate::cloud::Needs;
use crate::ipam::Plan;
use crate::program::ProgramError;

/// The controllers that run.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) node: bool,
    pub(crate) lifecycle: bool,
    pub(crate) service: bool,
    /// The ranges of the pods of the cluster.
    pub(crate) route: Option<Vec<IpNet>>,
    /// The ranges that nodes get.
    pub(crate) ipam: Option<Plan>,
}

impl Chosen {
    /// The controllers of the flags.
    pub(crate) fn by(arguments: &Arguments) -> Result<Self, ProgramError> {
        let enabled = arguments.enabled()?;
        let runs = |controller| enabled.contains(&controller);
        let network = &arguments.network;
        let cluster = network.cluster()?;
        let routed = runs(Controller::Route) && network.configure_cloud_routes;
        if routed && cluster.is_empty() {
            tracing::info!("--cluster-cidr is not set: no routes are created");
        }
        let ipam = network.ipam()?;
        Ok(Self {
            node: runs(Controller::Node),
            lifecycle: runs(Controller::NodeLifecycle),
            service: runs(Controller::Service),
            route: Some(cluster).filter(|cluster| routed && !cluster.is_empty()),
            ipam: ipam.filter(|_| runs(Controller::NodeIpam)),
        })
    }

    /// What they need of the provider.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            instances: self.node || self.lifecycle,
            load_balancers: self.service,
            routes: self.route.is_some(),
        }
    }

    /// Leaves out controllers that the provider has nothing for.
    pub(crate) fn restrict(&mut self, provider: &str, capabilities: Capabilities) {
        if self.service && !capabilities.load_balancers {
            tracing::warn!(
                provider,
                "it has no load balancers: Services of type LoadBalancer are not managed"
            );
            self.service = false;
        }
        if self.route.is_some() && !capabilities.routes {
            tracing::warn!(provider, "it has no routes: none are created");
            self.route = None;
        }
    }
}
