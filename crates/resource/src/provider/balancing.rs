//! Load balancers of the Services of a running cluster, as a cloud controller asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::IpNet;

use super::instances::NodeAddress;
use crate::ProviderError;

/// Load balancers of Services. Declared as [`Capabilities::load_balancers`](super::Capabilities::load_balancers).
///
/// Calls about one load balancer come one after the other. Every call may come again, also after its effect.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// A load balancer as it exists; `None` if the cloud says for certain that it does not exist. Changes nothing.
    ///
    /// # Errors
    /// When the load balancer cannot be read, or an answer of the cloud is incomplete.
    async fn get(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError>;

    /// Creates a load balancer, or changes it until it is as its Service wants.
    ///
    /// # Errors
    /// `invalid` if the cloud has no such load balancer, such as one with a protocol that it does not forward.
    async fn ensure(&self, desired: &DesiredBalancer) -> Result<LoadBalancer, ProviderError>;

    /// Changes the nodes of a load balancer, and nothing else.
    ///
    /// # Errors
    /// `not-found` if the load balancer does not exist.
    async fn update(&self, desired: &DesiredBalancer) -> Result<(), ProviderError>;

    /// Deletes a load balancer with everything that was created for it. One that does not exist is a success.
    ///
    /// # Errors
    /// When something of it still exists.
    async fn delete(&self, key: &BalancerKey) -> Result<(), ProviderError>;
}

/// The load balancer of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BalancerKey {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the load balancer, as [`balancer_name`] makes it.
    pub name: String,
    /// Namespace and name of the Service, as `default/web`, for descriptions.
    pub service: String,
}

/// The longest name of a load balancer, in bytes.
const NAME_BYTES: usize = 32;

/// The name of the load balancer of the Service with a uid: `a` and the uid without hyphens, at most 32 bytes. It is
/// `DefaultLoadBalancerName` of `k8s.io/cloud-provider`.
#[must_use]
pub fn balancer_name(uid: &str) -> String {
    std::iter::once('a').chain(uid.chars().filter(|letter| *letter != '-')).take(NAME_BYTES).collect()
}

/// A load balancer as its Service wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredBalancer {
    /// The load balancer.
    pub key: BalancerKey,
    /// What its Service wants.
    pub service: BalancedService,
    /// All nodes that take connections, sorted by name.
    pub nodes: Vec<NodeTarget>,
}

/// What a Service wants of its load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancedService {
    /// The ports, in the order of the Service.
    pub ports: Vec<BalancedPort>,
    /// The address ranges that may connect. Never empty.
    pub source_ranges: BTreeSet<IpNet>,
    /// How long all connections of a client reach the same pod; `None`: connections are independent.
    pub client_affinity: Option<Duration>,
    /// The annotations of the Service.
    pub annotations: BTreeMap<String, String>,
    /// Only nodes with an endpoint of the Service take connections: those that answer with 200 at the path `/healthz` of this
    /// port. `None`: all nodes take connections.
    pub health_check_node_port: Option<u16>,
    /// The desired address.
    pub address: Option<IpAddr>,
    /// The families of its addresses, in the order of the Service.
    pub ip_families: Vec<IpFamily>,
}

/// A port of a load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancedPort {
    /// Its name; empty for the only port of a Service.
    pub name: String,
    /// The protocol.
    pub protocol: PortProtocol,
    /// The port of the load balancer.
    pub port: u16,
    /// The port of the nodes; `None` if the Service allocates none.
    pub node_port: Option<u16>,
    /// The protocol above, such as `kubernetes.io/ws`.
    pub app_protocol: Option<String>,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

impl PortProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Sctp];

    /// The protocol as the API of Kubernetes writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    /// Reads such a text; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.as_str() == text)
    }
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpFamily {
    /// Both families.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family as the API of Kubernetes writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// Reads such a text; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.as_str() == text)
    }
}

/// A node as a target of load balancers and routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTarget {
    /// The name of the node.
    pub node: String,
    /// The provider id in the spec of the node.
    pub provider_id: Option<String>,
    /// The addresses in the status of the node.
    pub addresses: Vec<NodeAddress>,
}

/// A load balancer that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadBalancer {
    /// How it is reached; empty as long as the cloud does not know.
    pub ingress: Vec<Ingress>,
}

/// A way to reach a load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// The address or the name.
    pub at: IngressPoint,
    /// The state of ports, where the cloud reports it.
    pub ports: Vec<IngressPort>,
}

/// The address or the name of a load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngressPoint {
    /// An IP address.
    Ip {
        /// The address.
        address: IpAddr,
        /// What the packets that it forwards look like.
        mode: IpMode,
    },
    /// A DNS name.
    Hostname(String),
}

/// What the packets look like that a load balancer forwards to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpMode {
    /// They have the address of the load balancer as their destination.
    Vip,
    /// They have the address of the node as their destination.
    Proxy,
}

impl IpMode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Vip, Self::Proxy];

    /// The mode as the API of Kubernetes writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vip => "VIP",
            Self::Proxy => "Proxy",
        }
    }

    /// Reads such a text; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// The state of a port of a load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressPort {
    /// The port.
    pub port: u16,
    /// The protocol.
    pub protocol: PortProtocol,
    /// Why the port does not work: one word in upper camel case, or `domain/Word`.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balancer_is_named_after_the_uid_of_its_service() {
        let name = balancer_name("0d3bf7a3-9d0f-4d3c-8a2f-8c9f5ce7a1b2");
        assert_eq!(name, "a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b");
        assert_eq!(name.len(), NAME_BYTES);
        assert_eq!(balancer_name("a-b"), "aab");
    }
}
