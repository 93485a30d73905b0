use serde_json::Value;
use slipway_limits::count;

use super::context::{Context, error};
use crate::diagnostic::code::{OUT_OF_RANGE, TOO_MANY_THINGS};
use crate::model::Cluster;

const FEWER_LABELS: &str = "keep the labels that bills and policies of the cloud need";

/// Whether the cluster is small enough for the other rules, some of which hold every thing against every other.
pub(super) fn check(context: &mut Context<'_>) -> bool {
    let cluster = context.cluster;
    let split = "make several clusters of it";
    let merge = "allow fewer and larger ranges, or a prefix list";
    let mut lists = vec![
        ("pools".to_owned(), "pools", cluster.pools.len(), count::POOLS, split),
        ("network.subnets".to_owned(), "subnets", cluster.network.subnets.len(), count::SUBNETS, split),
        ("hosts".to_owned(), "hosts", cluster.hosts.len(), count::HOSTS, split),
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
    for (field, ranges) in [
        ("additionalCidrs", &cluster.network.additional_cidrs),
        ("podCidrs", &cluster.network.pod_cidrs),
        ("serviceCidrs", &cluster.network.service_cidrs),
    ] {
        let path = format!("network.{field}");
        lists.push((
            path,
            "ranges of addresses in one list",
            ranges.len(),
            count::RANGES,
            "merge the ranges",
        ));
    }
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
            (
                path("taints"),
                "taints in one pool",
                pool.taints.len(),
                count::TAINTS,
                "make several pools of it",
            ),
            (path("volumes"), "volumes of one machine", pool.volumes.len(), count::VOLUMES, "join volumes"),
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
    // Only a cluster within these limits is small enough to be looked at in whole.
    if fits && let Some((path, number)) = longer(cluster) {
        let complaint = error(
            TOO_MANY_THINGS,
            format!(
                "`{path}` of the cluster `{}` has {number} entries; Slipway handles {}",
                cluster.name,
                count::ITEMS
            ),
            "write fewer, or make several clusters of it",
        );
        context.at_key(&path, complaint);
        fits = false;
    }
    let subnets: usize = cluster.pools.iter().map(|pool| pool.subnets.len()).sum();
    if fits && subnets > count::POOL_SUBNETS {
        let complaint = error(
            TOO_MANY_THINGS,
            format!(
                "the {} pools of the cluster `{}` have {subnets} subnets together; Slipway handles {}",
                cluster.pools.len(),
                cluster.name,
                count::POOL_SUBNETS
            ),
            "list the `subnets` of each pool: a pool that lists none has all subnets for machines",
        );
        context.at_key("network.subnets", complaint);
        fits = false;
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

/// The path and length of a list or mapping with more entries than allowed; hosts have a limit of their own.
fn longer(cluster: &Cluster) -> Option<(String, usize)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(cluster) else {
        return None;
    };
    fields.iter().find_map(|(name, value)| {
        let found = match value {
            Value::Array(hosts) if name == "hosts" => hosts.iter().find_map(longer_within),
            _ => longer_within(value),
        };
        found.map(|(rest, number)| (format!("{name}{rest}"), number))
    })
}

/// The same within a value, with the path from it. Paths are written for what is found only.
fn longer_within(value: &Value) -> Option<(String, usize)> {
    let long = |number: usize| (number > count::ITEMS).then(|| (String::new(), number));
    match value {
        Value::Array(items) => long(items.len()).or_else(|| {
            items.iter().enumerate().find_map(|(index, item)| {
                let (rest, number) = longer_within(item)?;
                let name = item.get("name").and_then(Value::as_str);
                let key = name.map_or_else(|| index.to_string(), ToOwned::to_owned);
                Some((format!("[{key}]{rest}"), number))
            })
        }),
        Value::Object(fields) => long(fields.len()).or_else(|| {
            fields.iter().find_map(|(name, field)| {
                let (rest, number) = longer_within(field)?;
                Some((format!(".{name}{rest}"), number))
            })
        }),
        _ => None,
    }
}
