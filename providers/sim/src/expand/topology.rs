//! Questions about a cluster that several parts of it ask.

use slipway_cluster_input::{ClusterInput, IpFamily, Role, Subnet, SubnetKind};

/// The field of a subnet.
pub(super) fn subnet_field(subnet: &Subnet, name: &str) -> String {
    format!("network.subnets[{}].{name}", subnet.name)
}

/// Whether a subnet has a way in from the internet.
pub(super) fn is_public(subnet: &Subnet) -> bool {
    matches!(subnet.kind, SubnetKind::Public | SubnetKind::Utility)
}

/// Whether nodes and services have IPv6 addresses.
pub(super) fn has_ipv6(cluster: &ClusterInput) -> bool {
    cluster.network.ip_family != IpFamily::Ipv4
}

/// The name of a role in names of resources.
pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => "control-plane",
        Role::Worker => "worker",
        Role::ApiServer => "api-server",
        Role::Bastion => "bastion",
    }
}

/// The roles that the cluster's pools have.
pub(super) fn roles(cluster: &ClusterInput) -> Vec<Role> {
    [Role::ControlPlane, Role::ApiServer, Role::Worker, Role::Bastion]
        .into_iter()
        .filter(|role| cluster.pools_with(*role).next().is_some())
        .collect()
}

/// The subnet with the gateways for another subnet's zone: a public one of the zone, otherwise the first.
pub(super) fn gateway_subnet<'a>(cluster: &'a ClusterInput, subnet: &Subnet) -> Option<&'a Subnet> {
    let candidates = || cluster.network.subnets.iter().filter(|candidate| is_public(candidate));
    candidates()
        .filter(|candidate| candidate.zone == subnet.zone)
        .min_by_key(|candidate| candidate.kind != SubnetKind::Utility)
        .or_else(|| candidates().next())
}

/// The subnets of a load balancer when the spec names none: one per zone, public or private by its scheme.
pub(super) fn balancer_subnets(cluster: &ClusterInput, public: bool) -> Vec<&Subnet> {
    let mut chosen: Vec<&Subnet> = Vec::new();
    let rank = |subnet: &Subnet| match (public, subnet.kind) {
        (true, SubnetKind::Utility) | (false, SubnetKind::Private) => 0,
        (true, SubnetKind::Public) | (false, SubnetKind::Public) => 1,
        (false, SubnetKind::Utility) => 2,
        (true, SubnetKind::Private) => 3,
    };
    let best = cluster.network.subnets.iter().map(rank).min();
    for subnet in &cluster.network.subnets {
        if Some(rank(subnet)) == best && chosen.iter().all(|other| other.zone != subnet.zone) {
            chosen.push(subnet);
        }
    }
    chosen
}
