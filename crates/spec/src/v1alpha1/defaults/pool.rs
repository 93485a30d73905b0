use crate::{
    model::{Network, Role, Rollout, Size, Subnet, SubnetKind, Taint, TaintEffect, Topology},
    v1alpha1::{NodePoolSpec, RolloutSpec},
    value::{Amount, Duration},
};

/// How many nodes a pool has: one for each listed host, or one.
pub(in crate::v1alpha1) fn size(spec: &NodePoolSpec) -> Size {
    let listed = spec.hosts.as_ref().map_or(0, |hosts| hosts.addresses.len());
    spec.size.unwrap_or_else(|| Size::Fixed(u32::try_from(listed).unwrap_or(u32::MAX).max(1)))
}

/// The subnets and zones of a pool.
pub(in crate::v1alpha1) fn placement(
    spec: &NodePoolSpec,
    network: &Network,
    zones: &[String],
) -> (Vec<String>, Vec<String>) {
    if spec.hosts.is_some() && spec.subnets.is_none() {
        return (Vec::new(), spec.zones.clone().unwrap_or_default());
    }
    let subnets: Vec<String> = spec.subnets.clone().unwrap_or_else(|| {
        let wanted = |subnet: &&Subnet| {
            let in_zone = spec.zones.as_ref().is_none_or(|zones| zones.contains(&subnet.zone));
            in_zone && suits(spec.role, network.topology, subnet, &network.subnets)
        };
        network.subnets.iter().filter(wanted).map(|subnet| subnet.name.clone()).collect()
    });
    let pool_zones = spec.zones.clone().unwrap_or_else(|| {
        let mut found: Vec<String> = Vec::new();
        for subnet in network.subnets.iter().filter(|subnet| subnets.contains(&subnet.name)) {
            if !found.contains(&subnet.zone) {
                found.push(subnet.zone.clone());
            }
        }
        if found.is_empty() { zones.to_vec() } else { found }
    });
    (subnets, pool_zones)
}

fn suits(role: Role, topology: Topology, subnet: &Subnet, all: &[Subnet]) -> bool {
    let utility = all.iter().any(|subnet| subnet.kind == SubnetKind::Utility);
    match (role, topology) {
        (Role::Bastion, _) if utility => subnet.kind == SubnetKind::Utility,
        (Role::Bastion, _) | (_, Topology::Public) => subnet.kind == SubnetKind::Public,
        (_, Topology::Private) => subnet.kind == SubnetKind::Private,
    }
}

/// Whether the nodes of a pool have public addresses.
pub(in crate::v1alpha1) fn public_ip(spec: &NodePoolSpec, network: &Network) -> bool {
    let in_network = spec.hosts.is_none() && !network.subnets.is_empty();
    spec.public_ip
        .unwrap_or(in_network && (network.topology == Topology::Public || spec.role == Role::Bastion))
}

/// The taints of a pool's nodes, which keep ordinary pods from control planes, as in kubeadm.
pub(in crate::v1alpha1) fn taints(role: Role, schedulable: bool) -> Vec<Taint> {
    let control_plane = matches!(role, Role::ControlPlane | Role::ApiServer);
    if !control_plane || schedulable {
        return Vec::new();
    }
    vec![Taint {
        key: "node-role.kubernetes.io/control-plane".to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    }]
}

/// How the nodes of a pool are replaced: by the pool's settings, else the cluster's, else by the kind of
/// node.
///
/// Etcd members stay with their volume, and the number of listed hosts is fixed: both are deleted before
/// their replacement. Other machines are added first.
pub(in crate::v1alpha1) fn rollout(spec: &NodePoolSpec, cluster: &RolloutSpec) -> Rollout {
    let own = &spec.rollout;
    let surges = spec.role != Role::ControlPlane && spec.hosts.is_none();
    let surge = own.max_surge.or(cluster.max_surge).unwrap_or(Amount::Count(u32::from(surges)));
    let unavailable =
        own.max_unavailable.or(cluster.max_unavailable).unwrap_or(Amount::Count(u32::from(surge.is_zero())));
    Rollout {
        strategy: own.strategy.or(cluster.strategy).unwrap_or_default(),
        max_surge: surge,
        max_unavailable: unavailable,
        drain: own.drain.clone().or_else(|| cluster.drain.clone()).unwrap_or_default(),
        ready_timeout: own.ready_timeout.or(cluster.ready_timeout).unwrap_or(Duration::from_mins(15)),
        settle: own.settle.or(cluster.settle).unwrap_or(Duration::from_secs(15)),
    }
}
