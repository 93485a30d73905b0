//! The instances of a cloud behind the nodes of a cluster, as a cloud controller asks for them.

use std::collections::BTreeMap;

use crate::ProviderError;

/// Asks for the instances behind nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstancesRequest {
    /// The name of the cluster. A node without a provider id is looked for among the instances of this cluster only.
    pub cluster: String,
    /// The nodes.
    pub queries: Vec<InstanceQuery>,
}

/// Asks for the instance behind a node: the one with its provider id, or without one the one that the node is named after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceQuery {
    /// The name of the node.
    pub node: String,
    /// The provider id in the spec of the node.
    pub provider_id: Option<String>,
}

/// The facts about the instance of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceAnswer {
    /// It exists. A stopped instance exists.
    Present(Instance),
    /// The cloud says for certain that it does not exist.
    Absent,
    /// It is not known whether it exists, or its properties are not known.
    Unreadable(ProviderError),
}

/// An instance of a cloud that is a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The provider id in the spec of the node, as `aws:///us-east-1a/i-0123`.
    pub provider_id: String,
    /// Whether the instance is stopped. Its disks may be attached to other instances then.
    pub shutdown: bool,
    /// The addresses of the node, in the order in which the status of the node has them.
    pub addresses: Vec<NodeAddress>,
    /// The type of the instance, where the cloud has types.
    pub instance_type: Option<String>,
    /// The zone, where the cloud has zones.
    pub zone: Option<String>,
    /// The region, where the cloud has regions.
    pub region: Option<String>,
    /// Further labels of the node.
    pub labels: BTreeMap<String, String>,
}

/// An address of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// The kind of the address.
    pub kind: NodeAddressKind,
    /// The address: an IP address, or a name.
    pub address: String,
}

/// The kinds of addresses that the status of a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAddressKind {
    /// An IP address inside the network of the cluster.
    InternalIp,
    /// An IP address outside.
    ExternalIp,
    /// A DNS name inside the network of the cluster.
    InternalDns,
    /// A DNS name outside.
    ExternalDns,
    /// The host name.
    Hostname,
}

impl NodeAddressKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::InternalIp, Self::ExternalIp, Self::InternalDns, Self::ExternalDns, Self::Hostname];

    /// The kind as the API of Kubernetes writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InternalIp => "InternalIP",
            Self::ExternalIp => "ExternalIP",
            Self::InternalDns => "InternalDNS",
            Self::ExternalDns => "ExternalDNS",
            Self::Hostname => "Hostname",
        }
    }

    /// Reads such a text; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}
