//! Static pods of the control plane: etcd, the API server, the controller manager and the scheduler.
//!
//! The manifests are kubeadm's, byte for byte: the kubelet restarts a pod when a byte of its manifest changes.

mod api_server;
mod arguments;
mod controller_manager;
mod etcd;
mod pod;
mod probe;
mod scheduler;
mod volume;

use serde_json::Value;

use crate::configuration::{Argument, Configuration, LocalEndpoint, argument_value};
use crate::expand::Facts;
use crate::patch::{PatchError, Patches, Target};
use crate::shape::POD;
use crate::yaml;

pub use api_server::api_server;
pub use arguments::command_line;
pub use controller_manager::controller_manager;
pub use etcd::{
    CLIENT_PORT as ETCD_CLIENT_PORT, InitialCluster, Member, PEER_PORT as ETCD_PEER_PORT, etcd,
    url as etcd_url,
};
pub use scheduler::scheduler;

/// The folder of static pods.
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// A component of the control plane that runs as a static pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// etcd, unless it is external.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controller manager.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl Component {
    /// Every component, in the order in which they start.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// The name of its pod, and of its manifest's file before `.yaml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.target().as_str()
    }

    /// Its name in patches.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Self::Etcd => Target::Etcd,
            Self::ApiServer => Target::ApiServer,
            Self::ControllerManager => Target::ControllerManager,
            Self::Scheduler => Target::Scheduler,
        }
    }

    /// The path of its manifest.
    #[must_use]
    pub fn path(self) -> String {
        format!("{MANIFESTS}/{}.yaml", self.name())
    }
}

/// The pod of a component, without patches. etcd's begins a cluster; [`etcd`] makes the others.
#[must_use]
pub fn pod(component: Component, configuration: &Configuration, facts: &Facts) -> Value {
    match component {
        Component::Etcd => etcd(configuration, &InitialCluster::New),
        Component::ApiServer => api_server(configuration, facts),
        Component::ControllerManager => controller_manager(configuration, facts),
        Component::Scheduler => scheduler(configuration, facts),
    }
}

/// The URL that reports whether a component is ready, or healthy where it reports no readiness.
#[must_use]
pub fn ready_url(component: Component, configuration: &Configuration) -> String {
    let cluster = &configuration.cluster;
    let address =
        |arguments: &[Argument]| match argument_value(arguments, "bind-address").map(probe::reachable) {
            Some("") | None => "127.0.0.1".to_owned(),
            Some(address) => address.to_owned(),
        };
    let port = |arguments: &[Argument], default: u16| {
        argument_value(arguments, "secure-port").and_then(|port| port.parse().ok()).unwrap_or(default)
    };
    let https = |host: String, port: u16| LocalEndpoint { host, port }.url();
    match component {
        Component::Etcd => etcd::ready_url(configuration),
        Component::ApiServer => {
            let arguments = &cluster.api_server.component.extra_args;
            let host = argument_value(arguments, "advertise-address")
                .map_or_else(|| configuration.node.advertise_address.to_string(), ToOwned::to_owned);
            format!("{}/readyz", https(host, port(arguments, configuration.node.bind_port)))
        }
        Component::ControllerManager => {
            let arguments = &cluster.controller_manager.extra_args;
            format!("{}/healthz", https(address(arguments), port(arguments, 10257)))
        }
        Component::Scheduler => {
            let arguments = &cluster.scheduler.extra_args;
            format!("{}/livez", https(address(arguments), port(arguments, 10259)))
        }
    }
}

/// The text of a pod's manifest, patched.
///
/// # Errors
/// When a patch does not fit.
pub fn manifest(component: Component, pod: Value, patches: &Patches) -> Result<String, PatchError> {
    if !patches.any(component.target()) {
        return Ok(yaml::to_string(&pod));
    }
    let patched = patches.apply(component.target(), pod)?;
    Ok(yaml::to_string(&POD.encode(Some(&patched))))
}

#[cfg(test)]
mod tests;
