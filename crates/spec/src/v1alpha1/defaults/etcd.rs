use crate::{
    model::{EtcdBackups, EtcdMember, NodePool, Profile, Role, Volume},
    v1alpha1::EtcdClusterSpec,
};

/// The etcd clusters of a profile.
pub(in crate::v1alpha1) fn clusters(profile: Profile) -> Vec<EtcdClusterSpec> {
    let names: &[&str] = match profile {
        Profile::Slipway | Profile::Hardened => &["main", "events"],
        Profile::Kubeadm => &["main"],
    };
    names
        .iter()
        .map(|name| EtcdClusterSpec {
            name: (*name).to_owned(),
            members: None,
            version: None,
            backups: Some(EtcdBackups { enabled: profile.has_own_defaults(), ..EtcdBackups::default() }),
            cpu_request: None,
            memory_request: None,
        })
        .collect()
}

/// A member for each control-plane node, named `a`, `b`, … in the order of the pools, over their subnets in turn.
pub(in crate::v1alpha1) fn members(pools: &[NodePool], zones: &[String]) -> Vec<EtcdMember> {
    let nodes = pools.iter().filter(|pool| pool.role == Role::ControlPlane).flat_map(|pool| {
        let subnets = pool.subnets.clone();
        (0..usize::try_from(pool.size.min()).unwrap_or_default()).map(move |index| {
            let subnet = index.checked_rem(subnets.len()).and_then(|turn| subnets.get(turn)).cloned();
            (pool.name.clone(), subnet)
        })
    });
    nodes
        .zip('a'..='z')
        .map(|((pool, subnet), letter)| EtcdMember {
            name: letter.to_string(),
            pool,
            subnet,
            volume: volume(zones),
        })
        .collect()
}

/// The volume of a member: where machines come and go it outlives them, on listed hosts the data stays on the disk.
pub(in crate::v1alpha1) fn volume(zones: &[String]) -> Option<Volume> {
    (!zones.is_empty()).then(|| Volume { delete_on_termination: false, ..Volume::of_size(20) })
}
