//! Security groups, and what each lets in.

mod access;
mod balancer;
mod bastion;
mod group;
mod nodes;
mod rule;

use slipway_cluster_input::Role;

use super::build::Builder;
use group::groups_of;

/// Adds the groups of machines and load balancers, with their rules.
pub(super) fn security(builder: &mut Builder<'_>) {
    let masters = groups_of(builder, Role::ControlPlane);
    let nodes = groups_of(builder, Role::Worker);
    for group in masters.iter().chain(&nodes) {
        group.add(builder);
    }
    nodes::among_machines(builder, &masters, &nodes);
    nodes::from_nodes_to_masters(builder, &masters, &nodes);
    access::outside(builder, &masters, &nodes);
    balancer::api(builder, &masters, &nodes);
    bastion::bastion(builder, &masters, &nodes);
}
