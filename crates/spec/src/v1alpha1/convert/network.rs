use crate::{
    model::{Network, Profile, Subnet, SubnetKind},
    v1alpha1::{NetworkSpec, SubnetSpec, defaults},
};

/// The network of a cluster with these zones.
pub(super) fn network(spec: &NetworkSpec, profile: Profile, zones: &[String]) -> Network {
    let cidr = defaults::node_range(spec, zones);
    let services =
        spec.service_cidrs.clone().unwrap_or_else(|| defaults::service_ranges(spec.ip_family, profile));
    let subnets = match &spec.subnets {
        Some(listed) => listed.iter().map(|subnet| self::subnet(subnet, listed)).collect(),
        None if spec.id.is_some() => Vec::new(),
        None => defaults::cut_subnets(cidr, zones, spec.topology),
    };
    Network {
        id: spec.id.clone(),
        cidr,
        additional_cidrs: spec.additional_cidrs.clone(),
        ipv6_cidr: spec.ipv6_cidr,
        ip_family: spec.ip_family,
        topology: spec.topology,
        subnets,
        pod_cidrs: spec.pod_cidrs.clone().unwrap_or_else(|| defaults::pod_ranges(spec.ip_family, profile)),
        dns_address: spec.dns_address.unwrap_or_else(|| defaults::dns_address(&services)),
        service_cidrs: services,
        cluster_domain: spec.cluster_domain.clone(),
        node_port_range: spec.node_port_range,
        cni: spec.cni.clone().unwrap_or_else(|| defaults::cni(profile)),
        proxy_mode: spec.proxy_mode,
    }
}

fn subnet(spec: &SubnetSpec, all: &[SubnetSpec]) -> Subnet {
    let gateway_in_zone =
        all.iter().any(|other| other.zone == spec.zone && other.kind != SubnetKind::Private);
    Subnet {
        name: spec.name.clone(),
        zone: spec.zone.clone(),
        kind: spec.kind,
        cidr: spec.cidr,
        ipv6_cidr: spec.ipv6_cidr,
        id: spec.id.clone(),
        egress: spec.egress.clone().unwrap_or_else(|| defaults::egress(spec.kind, gateway_in_zone)),
        additional_routes: spec.additional_routes.clone(),
    }
}
