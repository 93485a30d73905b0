use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{Cidr, PortRange};

/// The networks of nodes, pods and services.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// An existing network to use, by the provider's id; Slipway then changes nothing that it did not make in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The IPv4 range of the nodes' network; absent on providers without networks of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr: Option<Cidr>,
    /// Further IPv4 ranges of the nodes' network.
    pub additional_cidrs: Vec<Cidr>,
    /// The IPv6 range of the nodes' network; absent lets the provider assign one where the family needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr: Option<Cidr>,
    /// Which families pods and services have.
    pub ip_family: IpFamily,
    /// Whether nodes have public addresses.
    pub topology: Topology,
    /// The subnets, in the order of the spec.
    pub subnets: Vec<Subnet>,
    /// The ranges of pod addresses, one per family, the primary family first.
    pub pod_cidrs: Vec<Cidr>,
    /// The ranges of service addresses, one per family, the primary family first.
    pub service_cidrs: Vec<Cidr>,
    /// The address of the cluster's DNS service, inside the first service range.
    #[schemars(schema_with = "crate::schema::address")]
    pub dns_address: IpAddr,
    /// The domain of services.
    pub cluster_domain: String,
    /// The ports of NodePort services.
    pub node_port_range: PortRange,
    /// The pod network.
    pub cni: Cni,
    /// How service addresses are served on nodes.
    pub proxy_mode: ProxyMode,
}

/// The address families of pods and services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum IpFamily {
    /// IPv4 only.
    #[default]
    Ipv4,
    /// IPv6 only.
    Ipv6,
    /// Both, IPv4 first.
    DualStack,
}

/// Whether nodes have public addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Topology {
    /// Nodes live in public subnets and have public addresses.
    Public,
    /// Nodes live in private subnets; load balancers and gateways live in utility or public ones.
    #[default]
    Private,
}

/// One subnet of the nodes' network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// The subnet's name, by which pools refer to it; unique in the cluster.
    pub name: String,
    /// The zone that the subnet lies in, one of the cluster's zones.
    pub zone: String,
    /// What lives in the subnet.
    pub kind: SubnetKind,
    /// The IPv4 range, inside one of the network's; absent for an IPv6-only subnet, or for an existing one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr: Option<Cidr>,
    /// The IPv6 range, inside the network's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr: Option<Cidr>,
    /// An existing subnet to use, by the provider's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How what lives in the subnet reaches the outside.
    pub egress: Egress,
    /// Routes beside those that egress makes, in the order of the spec.
    pub additional_routes: Vec<Route>,
}

/// What lives in a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubnetKind {
    /// Nodes with public addresses; the default route is the internet gateway.
    Public,
    /// Nodes without public addresses; the default route is the subnet's egress.
    Private,
    /// Load balancers, NAT gateways and bastions, with public addresses; no nodes.
    Utility,
}

/// How a subnet reaches the outside. A mapping with exactly one key: `egress: { natGateway: {} }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Egress {
    /// Straight through the network's internet gateway: what public and utility subnets do.
    InternetGateway {},
    /// A managed NAT gateway in a utility or public subnet of the same zone.
    NatGateway {
        /// An existing gateway to use, by the provider's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// An existing elastic address for the gateway that Slipway makes, by the provider's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elastic_ip: Option<String>,
    },
    /// An existing machine that translates addresses.
    NatInstance {
        /// The machine, by the provider's id.
        id: String,
    },
    /// An existing transit gateway.
    TransitGateway {
        /// The gateway, by the provider's id.
        id: String,
    },
    /// Somebody else manages the subnet's routes.
    External {},
    /// None: the subnet is cut off from the outside.
    None {},
}

impl Egress {
    /// The key in the JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::InternetGateway {} => "internetGateway",
            Self::NatGateway { .. } => "natGateway",
            Self::NatInstance { .. } => "natInstance",
            Self::TransitGateway { .. } => "transitGateway",
            Self::External {} => "external",
            Self::None {} => "none",
        }
    }
}

/// A route of one subnet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The addresses that the route serves.
    pub cidr: Cidr,
    /// Where they are reached, by the provider's id: a gateway, a peering connection, a machine.
    pub target: String,
}

/// The pod network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cni {
    /// The plugin: `cilium`, `calico`, `flannel`, `kindnet`, `kube-router`, `amazon-vpc`, or `none` when you bring it.
    #[serde(default = "default_cni")]
    pub name: String,
    /// The plugin's own settings, as in its Helm values; checked by the add-on.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::opaque")]
    pub config: serde_json::Value,
}

fn default_cni() -> String {
    "cilium".to_owned()
}

impl Default for Cni {
    fn default() -> Self {
        Self { name: default_cni(), config: serde_json::Value::Null }
    }
}

/// How service addresses are served on nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProxyMode {
    /// kube-proxy with iptables.
    #[default]
    Iptables,
    /// kube-proxy with IPVS.
    Ipvs,
    /// kube-proxy with nftables.
    Nftables,
    /// No kube-proxy: the pod network replaces it.
    None,
}
