//! References to what other parts of the expansion make: each by the rule from which its address follows.

use slipway_cluster_input::{NodePool, Role, Subnet};
use slipway_resource::{Address, Value};

use super::build::{Builder, address, id_of};
use super::topology::{has_api_server, has_cilium_etcd, load_balancer, node_bootstrap, without_dns};
use crate::names;

/// The id of the cluster's network: the one it was given, or that of its own.
pub(crate) fn vpc_id(builder: &Builder<'_>) -> Value {
    match &builder.cluster.network.id {
        Some(id) => id.as_str().into(),
        None => id_of(&address("aws_vpc", &builder.cluster.name)),
    }
}

/// The id of a subnet: the one it was given, or that of its own.
pub(crate) fn subnet_id(builder: &Builder<'_>, subnet: &Subnet) -> Value {
    match &subnet.id {
        Some(id) => id.as_str().into(),
        None => id_of(&address("aws_subnet", &builder.named(&subnet.name))),
    }
}

/// The ids of a pool's subnets, in the order of the spec.
pub(crate) fn pool_subnet_ids(builder: &Builder<'_>, pool: &NodePool) -> Vec<Value> {
    pool.subnets
        .iter()
        .filter_map(|name| builder.cluster.subnet(name))
        .map(|subnet| subnet_id(builder, subnet))
        .collect()
}

/// The address of a role's own security group.
pub(crate) fn role_security_group(builder: &Builder<'_>, role: Role) -> Address {
    address("aws_security_group", &builder.named(names::security_group_role(role)))
}

/// The address of the own security group of a load balancer, `api` or `bastion`.
pub(crate) fn balancer_security_group(builder: &Builder<'_>, prefix: &str) -> Address {
    address("aws_security_group", &builder.named(&format!("{prefix}-elb")))
}

/// The security groups of a pool's machines: the role's own or the one in its place, and those that are added.
pub(crate) fn pool_security_groups(builder: &Builder<'_>, pool: &NodePool) -> Vec<Value> {
    let mut groups = match builder.pool_settings(pool).security_group_override {
        Some(id) => vec![id.into()],
        None => vec![id_of(&role_security_group(builder, pool.role))],
    };
    if has_api_server(pool)
        && let Some(balancer) = load_balancer(builder.cluster)
    {
        groups.extend(balancer.additional_security_groups.iter().map(|id| Value::from(id.as_str())));
    }
    groups.extend(pool.additional_security_groups.iter().map(|id| Value::from(id.as_str())));
    groups
}

/// The address of a load balancer, `api` or `bastion`.
pub(crate) fn balancer(builder: &Builder<'_>, prefix: &str) -> Address {
    address("aws_lb", &format!("{prefix}.{}", builder.cluster.name))
}

/// The address of a target group.
pub(crate) fn target_group(builder: &Builder<'_>, prefix: &str) -> Address {
    address("aws_lb_target_group", &names::hashed(prefix, &builder.cluster.name))
}

/// The prefixes of the target groups behind the API's load balancer.
pub(crate) fn api_target_groups(builder: &Builder<'_>) -> Vec<&'static str> {
    let Some(balancer) = load_balancer(builder.cluster) else { return Vec::new() };
    let mut prefixes = vec!["tcp"];
    if balancer.certificate.is_some() {
        prefixes.push("tls");
    }
    if node_bootstrap(builder.cluster).is_some() {
        prefixes.push("kops-controller");
    }
    if without_dns(builder.cluster) && has_cilium_etcd(builder.cluster) {
        prefixes.push("etcd-cilium");
    }
    prefixes
}

/// The target groups that a pool's machines join: those of the API's load balancer for API servers, the bastions' own.
pub(crate) fn pool_target_groups(builder: &Builder<'_>, pool: &NodePool) -> Vec<Value> {
    let prefixes = match pool.role {
        Role::ControlPlane => api_target_groups(builder),
        Role::ApiServer => {
            api_target_groups(builder).into_iter().filter(|prefix| matches!(*prefix, "tcp" | "tls")).collect()
        }
        Role::Bastion => vec!["bastion"],
        Role::Worker => Vec::new(),
    };
    prefixes.into_iter().map(|prefix| id_of(&target_group(builder, prefix))).collect()
}
