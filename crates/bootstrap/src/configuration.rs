//! Everything that bootstrapping, joining, resetting and reconfiguring a node needs to know.
//!
//! [`Configuration`] is complete: every default is explicit, and what kubeadm finds out on the host (the node's name,
//! its address, the CRI socket) was filled in from [`Detected`]. It comes from kubeadm's documents
//! ([`crate::kubeadm::read`]) or from Slipway's own specs, and carries no text of a secret when it is serialised.

use serde::{Deserialize, Serialize};
use slipway_cluster_input::Profile;

mod api_balancer;
mod argument;
mod cluster;
mod component;
mod detected;
mod endpoint;
mod etcd;
mod join;
mod network;
mod node;
mod reset;
mod timeouts;
mod upgrade;

pub use api_balancer::ApiBalancer;
pub use argument::{Argument, argument_value, set_missing};
pub use cluster::{ClusterSettings, Dns, EncryptionAlgorithm, GivenImages, KubeProxy};
pub use component::{ApiServer, Component, HostPathMount};
pub use detected::Detected;
pub(crate) use endpoint::is_dns_name;
pub use endpoint::{Endpoint, EndpointError, LocalEndpoint};
pub use etcd::{Etcd, ExternalEtcd, Image, LocalEtcd};
pub use join::{Discovery, FileDiscovery, Join, TokenDiscovery};
pub use network::Networking;
pub use node::{BootstrapTokenSettings, NodeSettings, PullPolicy, Taint};
pub use reset::{Reset, UnmountFlag};
pub use slipway_cluster_input::value::{GoDuration, GoDurationError};
pub use timeouts::Timeouts;
pub use upgrade::{Upgrade, UpgradeApply, UpgradeDiff, UpgradeNode, UpgradePlan};

/// The desired configuration of one node, and of the cluster that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// The source of defaults for fields that the documents do not set: under [`Profile::Kubeadm`] all are
    /// those of kubeadm.
    pub profile: Profile,
    /// The settings that all nodes of the cluster share: kubeadm's `ClusterConfiguration`.
    pub cluster: ClusterSettings,
    /// The settings of this node: the rest of kubeadm's `InitConfiguration` or `JoinConfiguration`.
    pub node: NodeSettings,
    /// How the node joins a cluster; absent on the node that begins one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    /// The user's `KubeletConfiguration`, as written; absent when all of it is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<serde_json::Map<String, serde_json::Value>>,
    /// The user's `KubeProxyConfiguration`, as written; absent when all of it is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_proxy: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Configuration {
    /// A configuration with kubeadm's defaults for the first control plane of a cluster, on a host about which this is
    /// known.
    #[must_use]
    pub fn new(detected: &Detected) -> Self {
        Self {
            profile: Profile::Kubeadm,
            cluster: ClusterSettings::default(),
            node: NodeSettings::control_plane(detected),
            join: None,
            kubelet: None,
            kube_proxy: None,
        }
    }

    /// Whether the node is, or becomes, a control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        self.join.as_ref().is_none_or(|join| join.control_plane)
    }

    /// Where clients reach the cluster's API: the shared endpoint, or this node's own where there is none. A shared
    /// endpoint without a port has the port of the API server on this node.
    #[must_use]
    pub fn server_endpoint(&self) -> LocalEndpoint {
        match &self.cluster.control_plane_endpoint {
            Some(endpoint) => LocalEndpoint {
                host: endpoint.host().to_owned(),
                port: endpoint.port().unwrap_or(self.node.bind_port),
            },
            None => self.local_endpoint(),
        }
    }

    /// Where the components of this node reach an API server: through the balancer of the node, or this node's own.
    #[must_use]
    pub fn component_endpoint(&self) -> LocalEndpoint {
        self.balanced_endpoint().unwrap_or_else(|| self.local_endpoint())
    }

    /// Where components on any node reach an API server: through the balancer of their node, or at the shared endpoint.
    #[must_use]
    pub fn node_endpoint(&self) -> LocalEndpoint {
        self.balanced_endpoint().unwrap_or_else(|| self.server_endpoint())
    }

    fn balanced_endpoint(&self) -> Option<LocalEndpoint> {
        self.cluster.api_balancer.as_ref().map(|_| ApiBalancer::endpoint())
    }

    /// Where the API server of this node is reached.
    #[must_use]
    pub fn local_endpoint(&self) -> LocalEndpoint {
        LocalEndpoint { host: self.node.advertise_address.to_string(), port: self.node.bind_port }
    }
}
