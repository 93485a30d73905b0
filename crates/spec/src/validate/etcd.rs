use super::{
    context::{Context, error},
    subnets::among,
};
use crate::{
    diagnostic::code::{CONTRADICTION, ETCD_MEMBERS, UNKNOWN_REFERENCE},
    model::{EtcdCluster, EtcdMember, Role},
    reader::item_path,
    v1alpha1::usual_members,
};

/// Every etcd cluster has an odd number of members, each on a control-plane node that there is.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    if !cluster.etcd.iter().any(|etcd| etcd.name == "main") {
        let complaint = error(
            ETCD_MEMBERS,
            "there is no etcd cluster `main`, which holds the cluster's objects",
            "add one with `name: main`, or leave `etcd` out",
        );
        context.at_key("etcd", complaint);
    }
    for etcd in &cluster.etcd {
        let path = format!("etcd[{}]", etcd.name);
        if !matches!(etcd.name.as_str(), "main" | "events" | "cilium" | "leases") {
            let names = ["main", "events", "cilium", "leases"].map(ToOwned::to_owned);
            let complaint = error(
                UNKNOWN_REFERENCE,
                format!("nothing uses an etcd cluster named `{}`", etcd.name),
                among(&etcd.name, &names, "etcd clusters", "choose one of them"),
            );
            context.at(&format!("{path}.name"), complaint);
        }
        members(context, etcd, &path);
        let backups = &etcd.backups;
        if backups.enabled && (backups.interval.is_zero() || backups.retention < backups.interval) {
            let complaint = error(
                CONTRADICTION,
                format!(
                    "backups every {} that are kept for {} are gone before the next one",
                    backups.interval, backups.retention
                ),
                "write an `interval` above zero, and a `retention` longer than it",
            );
            context.at(&format!("{path}.backups"), complaint);
        }
    }
}

fn members(context: &mut Context<'_>, etcd: &EtcdCluster, path: &str) {
    let cluster = context.cluster;
    let list = format!("{path}.members");
    let written = context.is_written(&list);
    // The default may be even: the size of the pools is warned about then, and `spec show --full` writes the default.
    let is_even = etcd.members.len().is_multiple_of(2);
    if written && is_even && etcd.members != usual_members(cluster) {
        let count = etcd.members.len();
        let complaint = error(
            ETCD_MEMBERS,
            format!("the etcd cluster `{}` has {count} members", etcd.name),
            format!(
                "a majority needs an odd number: use {}, or leave `members` out",
                if count < 4 { "1 or 3" } else { "3 or 5" }
            ),
        );
        context.at_key(&list, complaint);
    }
    if !written || !context.trusts("pools") {
        return;
    }
    let names: Vec<&str> = etcd.members.iter().map(|member| &*member.name).collect();
    let pools: Vec<String> = cluster.pools_with(Role::ControlPlane).map(|pool| pool.name.clone()).collect();
    for (index, member) in etcd.members.iter().enumerate() {
        let path = item_path(&list, &names, index);
        pool(context, member, &path, &pools);
        subnet(context, member, &path);
        if member.volume.as_ref().is_some_and(|volume| volume.delete_on_termination) {
            let complaint = error(
                CONTRADICTION,
                format!(
                    "the volume of the etcd member `{}` would go with its machine, and the data with it",
                    member.name
                ),
                "remove `deleteOnTermination`: a volume of etcd always stays",
            );
            context.at(&format!("{path}.volume.deleteOnTermination"), complaint);
        }
    }
    for pool in cluster.pools_with(Role::ControlPlane) {
        let here = etcd.members.iter().filter(|member| member.pool == pool.name).count();
        let nodes = usize::try_from(pool.size.max()).unwrap_or(usize::MAX);
        if here > nodes {
            let complaint = error(
                ETCD_MEMBERS,
                format!("the etcd cluster `{}` has {here} members on the {nodes} nodes of the pool `{}`", etcd.name, pool.name),
                "a node runs one member of each etcd cluster: enlarge the pool, or move members to another one",
            )
            .related("the pool's size", format!("pools[{}].size", pool.name));
            context.at_key(&list, complaint);
        }
    }
}

fn pool(context: &mut Context<'_>, member: &EtcdMember, path: &str, pools: &[String]) {
    let place = format!("{path}.pool");
    match context.cluster.pool(&member.pool) {
        None => {
            let complaint = error(
                UNKNOWN_REFERENCE,
                format!(
                    "the etcd member `{}` runs on the pool `{}`, which does not exist",
                    member.name, member.pool
                ),
                among(&member.pool, pools, "control-plane pools", "add a NodePool with `role: controlPlane`"),
            );
            context.at(&place, complaint);
        }
        Some(pool) if pool.role != Role::ControlPlane => {
            let complaint = error(
                ETCD_MEMBERS,
                format!(
                    "the etcd member `{}` runs on the pool `{}`, whose role is `{}`",
                    member.name,
                    member.pool,
                    pool.role.as_str()
                ),
                among(&member.pool, pools, "control-plane pools", "choose one of them"),
            );
            context.at(&place, complaint);
        }
        Some(_) => {}
    }
}

fn subnet(context: &mut Context<'_>, member: &EtcdMember, path: &str) {
    let Some(subnet) = &member.subnet else { return };
    let pool = context.cluster.pool(&member.pool);
    let allowed: Vec<String> = pool.map(|pool| pool.subnets.clone()).unwrap_or_default();
    if !allowed.contains(subnet) && !allowed.is_empty() && context.trusts("network.subnets") {
        let complaint = error(
            UNKNOWN_REFERENCE,
            format!(
                "the etcd member `{}` stays in the subnet `{subnet}`, which its pool `{}` does not use",
                member.name, member.pool
            ),
            among(subnet, &allowed, "pool's subnets", "add it to the pool's `subnets`"),
        );
        context.at(&format!("{path}.subnet"), complaint);
    }
}
