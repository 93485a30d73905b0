use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    model::{Cni, Egress, IpFamily, ProxyMode, Route, SubnetKind, Topology},
    value::{Cidr, PortRange},
};

/// The networks of nodes, pods and services.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NetworkSpec {
    /// An existing network to use, by the provider's id; Slipway then changes nothing that it did not make in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The IPv4 range of the nodes' network. Default: 10.0.0.0/16 where the cluster has zones and makes its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<Cidr>,
    /// Further IPv4 ranges of the nodes' network.
    pub additional_cidrs: Vec<Cidr>,
    /// The IPv6 range of the nodes' network; absent lets the provider assign one where the family needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr: Option<Cidr>,
    /// Which families pods and services have.
    pub ip_family: IpFamily,
    /// Whether nodes have public addresses.
    pub topology: Topology,
    /// The subnets. Default: for each zone a private and a utility one, or a public one, cut from the network's range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<Vec<SubnetSpec>>,
    /// The ranges of pod addresses, one per family, the primary family first. Default: 100.96.0.0/11 and
    /// fd00:10:100::/56; in the profile `kubeadm` none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_cidrs: Option<Vec<Cidr>>,
    /// The ranges of service addresses, one per family, the primary family first. Default: 100.64.0.0/13 and
    /// fd00:10:96::/108; in the profile `kubeadm` 10.96.0.0/12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_cidrs: Option<Vec<Cidr>>,
    /// The address of the cluster's DNS service. Default: the tenth of the first service range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::model::address_schema")]
    pub dns_address: Option<IpAddr>,
    /// The domain of services.
    pub cluster_domain: String,
    /// The ports of NodePort services.
    pub node_port_range: PortRange,
    /// The pod network. Default: `cilium`; in the profile `kubeadm` none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<Cni>,
    /// How service addresses are served on nodes.
    pub proxy_mode: ProxyMode,
}

impl Default for NetworkSpec {
    fn default() -> Self {
        Self {
            id: None,
            cidr: None,
            additional_cidrs: Vec::new(),
            ipv6_cidr: None,
            ip_family: IpFamily::default(),
            topology: Topology::default(),
            subnets: None,
            pod_cidrs: None,
            service_cidrs: None,
            dns_address: None,
            cluster_domain: "cluster.local".to_owned(),
            node_port_range: PortRange::node_ports(),
            cni: None,
            proxy_mode: ProxyMode::default(),
        }
    }
}

/// One subnet of the nodes' network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubnetSpec {
    /// The subnet's name, by which pools refer to it; unique in the cluster.
    pub name: String,
    /// The zone that the subnet lies in.
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
    /// How what lives in the subnet reaches the outside. Default: the internet gateway for public and utility subnets;
    /// for private ones a NAT gateway where the zone has a utility or public subnet, else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Routes beside those that egress makes.
    #[serde(default)]
    pub additional_routes: Vec<Route>,
}
