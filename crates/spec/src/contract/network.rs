//! Networks.

use slipway_cluster_input as input;

use super::all;
use crate::model;

impl From<model::Network> for input::Network {
    fn from(from: model::Network) -> Self {
        let model::Network {
            id,
            cidr,
            additional_cidrs,
            ipv6_cidr,
            ip_family,
            topology,
            subnets,
            pod_cidrs,
            service_cidrs,
            dns_address,
            cluster_domain,
            node_port_range,
            cni,
            proxy_mode,
        } = from;
        Self {
            id,
            cidr,
            additional_cidrs,
            ipv6_cidr,
            ip_family: ip_family.into(),
            topology: topology.into(),
            subnets: all(subnets),
            pod_cidrs,
            service_cidrs,
            dns_address,
            cluster_domain,
            node_port_range,
            cni: cni.into(),
            proxy_mode: proxy_mode.into(),
        }
    }
}

impl From<model::Subnet> for input::Subnet {
    fn from(from: model::Subnet) -> Self {
        let model::Subnet { name, zone, kind, cidr, ipv6_cidr, id, egress, additional_routes } = from;
        Self {
            name,
            zone,
            kind: kind.into(),
            cidr,
            ipv6_cidr,
            id,
            egress: egress.into(),
            additional_routes: all(additional_routes),
        }
    }
}

impl From<model::Route> for input::Route {
    fn from(from: model::Route) -> Self {
        let model::Route { cidr, target } = from;
        Self { cidr, target }
    }
}

impl From<model::Cni> for input::Cni {
    fn from(from: model::Cni) -> Self {
        let model::Cni { name, config } = from;
        Self { name, config }
    }
}

impl From<model::IpFamily> for input::IpFamily {
    fn from(from: model::IpFamily) -> Self {
        match from {
            model::IpFamily::Ipv4 => Self::Ipv4,
            model::IpFamily::Ipv6 => Self::Ipv6,
            model::IpFamily::DualStack => Self::DualStack,
        }
    }
}

impl From<model::Topology> for input::Topology {
    fn from(from: model::Topology) -> Self {
        match from {
            model::Topology::Public => Self::Public,
            model::Topology::Private => Self::Private,
        }
    }
}

impl From<model::SubnetKind> for input::SubnetKind {
    fn from(from: model::SubnetKind) -> Self {
        match from {
            model::SubnetKind::Public => Self::Public,
            model::SubnetKind::Private => Self::Private,
            model::SubnetKind::Utility => Self::Utility,
        }
    }
}

impl From<model::Egress> for input::Egress {
    fn from(from: model::Egress) -> Self {
        match from {
            model::Egress::InternetGateway {} => Self::InternetGateway {},
            model::Egress::NatGateway { id, elastic_ip } => Self::NatGateway { id, elastic_ip },
            model::Egress::NatInstance { id } => Self::NatInstance { id },
            model::Egress::TransitGateway { id } => Self::TransitGateway { id },
            model::Egress::External {} => Self::External {},
            model::Egress::None {} => Self::None {},
        }
    }
}

impl From<model::ProxyMode> for input::ProxyMode {
    fn from(from: model::ProxyMode) -> Self {
        match from {
            model::ProxyMode::Iptables => Self::Iptables,
            model::ProxyMode::Ipvs => Self::Ipvs,
            model::ProxyMode::Nftables => Self::Nftables,
            model::ProxyMode::None => Self::None,
        }
    }
}
