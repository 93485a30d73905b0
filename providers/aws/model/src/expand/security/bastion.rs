//! SSH through bastions: from outside to their load balancer, from there to them, from them to everything else.

use slipway_cluster_input::Role;

use super::group::{Group, group_of_balancer, groups_of};
use super::rule::{Ports, Source, let_in};
use crate::expand::balancer::{bastion_scheme, subnets_of};
use crate::expand::build::Builder;
use crate::expand::topology::{has_bastion, subnet_field};

/// Adds the groups of bastions and of their load balancer, with their rules.
pub(super) fn bastion(builder: &mut Builder<'_>, masters: &[Group], nodes: &[Group]) {
    let cluster = builder.cluster;
    if !has_bastion(cluster) {
        return;
    }
    let bastions = groups_of(builder, Role::Bastion);
    let Some(origin) = bastions.first().map(|group| group.origin.clone()) else { return };
    for group in &bastions {
        group.add(builder);
    }
    let balancer = group_of_balancer(builder, "bastion", None, &origin);
    balancer.add(builder);
    let balancers = std::slice::from_ref(&balancer);

    let mut sources: Vec<(Source, String)> = Vec::new();
    for (index, access) in cluster.ssh.access.iter().enumerate() {
        sources.push((Source::of(access), format!("ssh.access[{index}]")));
    }
    // The load balancer's own addresses, from which it checks health and passes connections on.
    for subnet in subnets_of(builder, bastion_scheme(builder)) {
        let known = subnet.id.as_ref().and_then(|id| builder.catalog.subnet(id)?.cidr_block.clone());
        if let Some(range) = subnet.cidr.map(|range| range.to_string()).or(known) {
            sources.push((Source::Range(range), subnet_field(subnet, "cidr")));
        }
    }
    for (source, field) in &sources {
        let_in(builder, balancers, source, &[Ports::SSH], field);
        // The address family of a prefix list is not known.
        if !matches!(source, Source::PrefixList(_)) {
            let_in(builder, balancers, source, &source.path_mtu(), field);
        }
    }
    let through = [Ports::SSH, Ports::FRAGMENTATION_NEEDED];
    let_in(builder, &bastions, &Source::from(&balancer), &through, &origin);
    for group in &bastions {
        let source = Source::from(group);
        let_in(builder, balancers, &source, &[Ports::FRAGMENTATION_NEEDED], &group.origin);
        let_in(builder, masters, &source, &[Ports::SSH], &group.origin);
        let_in(builder, nodes, &source, &[Ports::SSH], &group.origin);
    }
}
