//! The rules of the API's load balancer, and those of masters for its traffic.

use super::group::{Group, group_of_balancer};
use super::rule::{Ports, Source, let_in};
use crate::expand::build::Builder;
use crate::expand::topology::{has_cilium_etcd, load_balancer, node_bootstrap, without_dns};

const FIELD: &str = "controlPlane.endpoint.loadBalancer";

/// Adds the group of the API's load balancer with its rules.
pub(super) fn api(builder: &mut Builder<'_>, masters: &[Group], nodes: &[Group]) {
    let cluster = builder.cluster;
    let Some(balancer) = load_balancer(cluster) else { return };
    let given = builder.settings.api.load_balancer.security_group_override.as_deref();
    let group = group_of_balancer(builder, "api", given, FIELD);
    group.add(builder);
    let balancers = std::slice::from_ref(&group);
    let certificate = format!("{FIELD}.certificate");
    for (index, access) in cluster.control_plane.access.iter().enumerate() {
        let (source, field) = (Source::of(access), format!("controlPlane.access[{index}]"));
        let_in(builder, balancers, &source, &[Ports::API], &field);
        let_in(builder, balancers, &source, &source.path_mtu(), &field);
        if balancer.certificate.is_some() {
            let_in(builder, balancers, &source, &[Ports::API_BESIDE_CERTIFICATE], &certificate);
        }
    }
    let source = Source::from(&group);
    let_in(builder, masters, &source, &[Ports::API, Ports::FRAGMENTATION_NEEDED], FIELD);
    if balancer.certificate.is_some() {
        let_in(builder, masters, &source, &[Ports::API_BESIDE_CERTIFICATE], &certificate);
    }
    for master in masters {
        let_in(builder, balancers, &master.into(), &[Ports::FRAGMENTATION_NEEDED], FIELD);
    }
    if let Some(field) = node_bootstrap(cluster) {
        let_in(builder, masters, &source, &[Ports::NODE_BOOTSTRAP], field);
        // Without DNS, nodes find everything through the load balancer alone.
        let all = without_dns(cluster);
        let ports: &[Ports] = if all { &[Ports::ALL] } else { &[Ports::API, Ports::NODE_BOOTSTRAP] };
        for node in nodes {
            let_in(builder, balancers, &node.into(), ports, field);
        }
    }
    if without_dns(cluster) && has_cilium_etcd(cluster) {
        let_in(builder, masters, &source, &[Ports::CILIUM_ETCD], "controlPlane.dns.kind");
    }
}
