use slipway_limits::count;

use super::context::{Context, error};
use crate::diagnostic::code::{OUT_OF_RANGE, TOO_MANY_THINGS};

/// Whether the cluster is small enough for the other rules, some of which hold every thing against every other.
pub(super) fn check(context: &mut Context<'_>) -> bool {
    let cluster = context.cluster;
    let lists = [
        ("pools", "pools", cluster.pools.len(), count::POOLS),
        ("network.subnets", "subnets", cluster.network.subnets.len(), count::SUBNETS),
        ("hosts", "hosts", cluster.hosts.len(), count::ITEMS),
    ];
    let mut fits = true;
    for (path, what, number, most) in lists {
        if number > most {
            let complaint = error(
                TOO_MANY_THINGS,
                format!("the cluster `{}` has {number} {what}; Slipway handles {most}", cluster.name),
                "make several clusters of it",
            );
            context.at_key(path, complaint);
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
