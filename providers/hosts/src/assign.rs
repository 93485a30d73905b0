//! The assignment of hosts to pools: earlier assignments are kept, and new ones are spread over zones.

use std::collections::{BTreeMap, BTreeSet};

use slipway_bootstrap::from_cluster::Placement;
use slipway_cluster_input::{ClusterInput, Host, NodePool, Role};
use slipway_resource::ProviderError;

use crate::error::{invalid, together};

/// The facts on which the choice of hosts is based.
pub(crate) struct Known<'a> {
    pub cluster: &'a ClusterInput,
    /// The existing hosts, with those that pools list.
    pub hosts: &'a [Host],
    /// The earlier choice.
    pub pinned: Option<&'a Placement>,
    /// The cluster that has each host, by inventory and host.
    pub taken: &'a BTreeMap<(String, String), String>,
}

/// A host that is a node of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assigned<'a> {
    pub host: &'a Host,
    pub pool: &'a NodePool,
}

/// The hosts of every pool, in the order of their names.
pub(crate) fn assign<'a>(known: &Known<'a>) -> Result<Vec<Assigned<'a>>, ProviderError> {
    let mut pools: Vec<&NodePool> = known.cluster.pools.iter().filter(|pool| pool.role.is_node()).collect();
    // Control planes choose first.
    pools.sort_by_key(|pool| (pool.role != Role::ControlPlane, pool.name.clone()));
    let mut assigned: Vec<Assigned<'a>> = Vec::new();
    // A host that a pool has already is not available to another pool.
    for pool in &pools {
        let stay = kept(known, pool, &assigned);
        assigned.extend(stay.into_iter().map(|host| Assigned { host, pool }));
    }
    let mut lacking = Vec::new();
    for pool in &pools {
        let wanted = usize::try_from(pool.size.min()).unwrap_or(usize::MAX);
        while assigned.iter().filter(|other| other.pool.name == pool.name).count() < wanted {
            let Some(host) = next(known, pool, &assigned) else {
                lacking.push(too_few(known, pool, &assigned));
                break;
            };
            assigned.push(Assigned { host, pool });
        }
    }
    if let Some(failure) = together(lacking) {
        return Err(failure);
    }
    assigned.sort_by(|one, other| one.host.name.cmp(&other.host.name));
    Ok(assigned)
}

/// The hosts that a pool had and that still fit, as many as it wants.
fn kept<'a>(known: &Known<'a>, pool: &NodePool, assigned: &[Assigned<'a>]) -> Vec<&'a Host> {
    let Some(pinned) = known.pinned else { return Vec::new() };
    let had: BTreeSet<&str> = pinned
        .machines
        .iter()
        .filter(|machine| machine.pool == pool.name)
        .map(|machine| machine.name.as_str())
        .collect();
    let mut stay: Vec<&Host> =
        candidates(known, pool, assigned).filter(|host| had.contains(host.name.as_str())).collect();
    // When a pool shrinks, the last hosts by name leave, and the endpoint only if no other host can.
    stay.sort_by_key(|host| (pinned.elected.as_deref() != Some(host.name.as_str()), host.name.clone()));
    stay.truncate(usize::try_from(pool.size.min()).unwrap_or(usize::MAX));
    stay
}

/// The next host of a pool: from the zone with the fewest hosts of the pool, and claimed hosts of the cluster
/// first.
fn next<'a>(known: &Known<'a>, pool: &NodePool, assigned: &[Assigned<'a>]) -> Option<&'a Host> {
    let in_zone = |zone: &Option<String>| {
        assigned.iter().filter(|other| other.pool.name == pool.name && other.host.zone == *zone).count()
    };
    let order = |host: &&'a Host| (!has(known, host), in_zone(&host.zone), host.name.clone());
    candidates(known, pool, assigned).min_by_key(order)
}

/// Whether the cluster has a host already.
fn has(known: &Known<'_>, host: &Host) -> bool {
    known.taken.get(&(host.inventory.clone(), host.name.clone())) == Some(&known.cluster.name)
}

/// The hosts that a pool may take and that no other cluster or pool has.
fn candidates<'a>(
    known: &Known<'a>,
    pool: &NodePool,
    assigned: &[Assigned<'a>],
) -> impl Iterator<Item = &'a Host> {
    known.hosts.iter().filter(move |host| {
        let free = known
            .taken
            .get(&(host.inventory.clone(), host.name.clone()))
            .is_none_or(|cluster| *cluster == known.cluster.name);
        fits(pool, host) && free && assigned.iter().all(|other| other.host.name != host.name)
    })
}

fn fits(pool: &NodePool, host: &Host) -> bool {
    !host.lost
        && pool.hosts.as_ref().is_some_and(|selection| {
            selection.fits(host) || selection.addresses.iter().any(|listed| listed.name == host.name)
        })
}

fn too_few(known: &Known<'_>, pool: &NodePool, assigned: &[Assigned<'_>]) -> ProviderError {
    let fitting: Vec<&Host> = known.hosts.iter().filter(|host| fits(pool, host)).collect();
    let mut reasons: Vec<String> = Vec::new();
    for host in &fitting {
        let elsewhere = assigned.iter().find(|other| other.host.name == host.name);
        match (elsewhere, known.taken.get(&(host.inventory.clone(), host.name.clone()))) {
            (Some(other), _) if other.pool.name != pool.name => {
                reasons.push(format!("{} is in the pool {}", host.name, other.pool.name));
            }
            (None, Some(cluster)) => reasons.push(format!("{} belongs to cluster {cluster}", host.name)),
            _ => {}
        }
    }
    if let Some(pinned) = known.pinned {
        let had = || pinned.machines.iter().filter(|machine| machine.pool == pool.name);
        let is_lost = |name: &str| known.hosts.iter().any(|host| host.name == name && host.lost);
        let lost = had().filter(|machine| is_lost(&machine.name));
        reasons.extend(lost.map(|machine| format!("{} is lost", machine.name)));
        let gone = had();
        let gone = gone.filter(|machine| known.hosts.iter().all(|host| host.name != machine.name));
        reasons.extend(gone.map(|machine| format!("{} is in the inventory no more", machine.name)));
    }
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    let (wanted, count) = (pool.size.min(), fitting.len());
    let (hosts, fit) = (if wanted == 1 { "host" } else { "hosts" }, if count == 1 { "fits" } else { "fit" });
    let hint = match pool.hosts.as_ref().and_then(|selection| selection.inventory.as_deref()) {
        Some(inventory) if known.hosts.iter().all(|host| host.inventory != inventory) => format!(
            "no Host document has the inventory `{inventory}`: correct `hosts.inventory` of the pool, or `inventory` of \
             the Host documents"
        ),
        _ => "add Host documents with the labels of the pool's selection, or ask for fewer".to_owned(),
    };
    invalid(format!("the pool {} asks for {wanted} {hosts}, and {count} {fit}{why}", pool.name))
        .with_hint(hint)
        .with_field(format!("pools[{}].hosts", pool.name))
}

#[cfg(test)]
mod tests;
