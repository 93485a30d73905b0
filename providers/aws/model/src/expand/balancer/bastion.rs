//! The load balancer through which operators reach bastions.

use slipway_cluster_input::Scheme;
use slipway_resource::Value;

use super::parts::{Listener, TargetGroup, way_in};
use super::{address_type, bastion_scheme, subnets_for};
use crate::expand::build::{Builder, id_of};
use crate::expand::links::{balancer_security_group, subnet_id};
use crate::expand::topology::has_bastion;
use crate::names;

const GROUP: TargetGroup =
    TargetGroup { prefix: "bastion", port: 22, protocol: "TCP", health: ("TCP", None) };

/// Adds the load balancer with its listener and target group.
pub(super) fn bastion(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    if !has_bastion(cluster) {
        return;
    }
    let origin = cluster
        .pools_with(slipway_cluster_input::Role::Bastion)
        .next()
        .map_or_else(String::new, |pool| format!("pools[{}]", pool.name));
    let field = "provider.config.topology.bastion.loadBalancer";
    let scheme = bastion_scheme(builder);
    let subnets = subnets_for(builder, scheme);
    let mapping = subnets.iter().map(|subnet| Value::map([("subnet_id", subnet_id(builder, subnet))]));
    let own = id_of(&balancer_security_group(builder, "bastion"));
    let more = &builder.settings.topology.bastion.load_balancer.additional_security_groups;
    let groups = std::iter::once(own).chain(more.iter().map(|id| Value::from(id.as_str())));
    let (name, title) = (names::hashed("bastion", &cluster.name), builder.named("bastion"));
    let mut draft = builder
        .draft("aws_lb", &title, &origin)
        .fix("name", name)
        .fix("load_balancer_type", "network")
        .set("internal", scheme == Scheme::Internal, format!("{field}.type"))
        .set("security_groups", Value::list(groups), format!("{field}.additionalSecurityGroups"))
        .set("subnet_mapping", Value::list(mapping), "network.subnets")
        .fix("enable_cross_zone_load_balancing", false)
        .set("ip_address_type", address_type(builder, &subnets), "network.ipFamily")
        .tags(builder.tags(&title));
    if scheme == Scheme::Public {
        draft = draft.after(way_in(builder));
    }
    builder.add(draft);
    GROUP.add(builder, &origin);
    Listener { balancer: "bastion", port: 22, target_group: "bastion", certificate: None, origin: &origin }
        .add(builder);
}
