use slipway_limits::count;

use super::context::{Context, error};
use crate::diagnostic::code::{OUT_OF_RANGE, TOO_MANY_THINGS};

const FEWER_LABELS: &str = "keep the labels that bills and policies of the cloud need";

/// Whether the cluster is small enough for the other rules, some of which hold every thing against every other.
pub(super) fn check(context: &mut Context<'_>) -> bool {
    let cluster = context.cluster;
    let split = "make several clusters of it";
    let merge = "allow fewer and larger ranges, or a prefix list";
    let mut lists = vec![
        ("pools".to_owned(), "pools", cluster.pools.len(), count::POOLS, split),
        ("network.subnets".to_owned(), "subnets", cluster.network.subnets.len(), count::SUBNETS, split),
        ("hosts".to_owned(), "hosts", cluster.hosts.len(), count::ITEMS, split),
        (
            "zones".to_owned(),
            "zones",
            cluster.zones.len(),
            count::ZONES,
            "list only the zones that have machines",
        ),
        (
            "controlPlane.access".to_owned(),
            "sources that may reach the API server",
            cluster.control_plane.access.len(),
            count::ACCESS,
            merge,
        ),
        (
            "ssh.access".to_owned(),
            "sources that may log in to nodes",
            cluster.ssh.access.len(),
            count::ACCESS,
            merge,
        ),
        (
            "cloudLabels".to_owned(),
            "cloud labels",
            cluster.cloud_labels.len(),
            count::CLOUD_LABELS,
            FEWER_LABELS,
        ),
    ];
    // Too many pools are refused for their number.
    for pool in cluster.pools.iter().take(count::POOLS) {
        let path = |field: &str| format!("pools[{}].{field}", pool.name);
        // The zones of a pool are those of the cluster, unless the pool lists some.
        let zones = if context.is_written(&path("zones")) { pool.zones.len() } else { 0 };
        lists.extend([
            (path("zones"), "zones in one pool", zones, count::ZONES, "make several pools of it"),
            (
                path("cloudLabels"),
                "cloud labels in one pool",
                pool.cloud_labels.len(),
                count::CLOUD_LABELS,
                FEWER_LABELS,
            ),
        ]);
    }
    let mut fits = true;
    for (path, what, number, most, hint) in lists {
        if number > most {
            let complaint = error(
                TOO_MANY_THINGS,
                format!("the cluster `{}` has {number} {what}; Slipway handles {most}", cluster.name),
                hint,
            );
            context.at_key(&path, complaint);
            fits = false;
        }
    }
    if !fits {
        return false;
    }
    for pool in &cluster.pools {
        // Documents of other tools have no bounds of ours.
        if pool.size.max() > count::NODES {
            let complaint = error(
                OUT_OF_RANGE,
                format!("the pool `{}` cannot have {} nodes", pool.name, pool.size.max()),
                format!("write a number of 0 to {}", count::NODES),
            );
            context.at(&format!("pools[{}].size", pool.name), complaint);
        }
    }
    let nodes: u64 = cluster.pools.iter().map(|pool| u64::from(pool.size.min())).sum();
    if nodes > u64::from(count::NODES) && cluster.pools.iter().all(|pool| pool.size.min() <= count::NODES) {
        let complaint = error(
            TOO_MANY_THINGS,
            format!(
                "the pools of the cluster `{}` have {nodes} nodes together; Slipway handles {}",
                cluster.name,
                count::NODES
            ),
            "make the pools smaller, or make several clusters of them",
        );
        context.at("name", complaint);
    }
    true
}
