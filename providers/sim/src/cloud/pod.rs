//! Pods: where they are placed, and when they may leave.

use std::collections::BTreeMap;

use slipway_resource::Value;

use super::change::Change;
use super::entity::{Machine, Object, Pod};
use super::machine::text_of;
use super::world::World;
use crate::clock::Millis;
use crate::kind::{EVICTION_MS, WORKLOAD};

/// How many pods of a workload may leave now; `None` for no limit.
pub(crate) fn allowance(world: &World, workload: &Object, now: Millis) -> Option<u64> {
    if workload.frozen_budget {
        return Some(0);
    }
    let minimum = text_of(workload, "minimum_available");
    if minimum.is_empty() {
        return None;
    }
    let replicas = replicas_of(workload);
    let minimum = amount(minimum, replicas, true);
    let ready = world.pods().filter(|pod| pod.workload == workload.id && is_ready(pod, now)).count() as u64;
    Some(ready.saturating_sub(minimum))
}

/// A count, or a percentage of `total`, rounded up or down.
pub(crate) fn amount(text: &str, total: u64, up: bool) -> u64 {
    match text.strip_suffix('%') {
        Some(percent) => {
            let part = total * percent.trim().parse::<u64>().unwrap_or_default();
            if up { part.div_ceil(100) } else { part / 100 }
        }
        None => text.trim().parse().unwrap_or_default(),
    }
}

/// Whether a pod runs and is ready.
pub(crate) fn is_ready(pod: &Pod, now: Millis) -> bool {
    pod.machine.is_some() && pod.ready_at <= now
}

/// The budget's name in messages.
pub(crate) fn budget_name(workload: &Object) -> String {
    format!("{}/{}", text_of(workload, "namespace"), text_of(workload, "name"))
}

/// Gives a workload as many pods as it wants, and places those that have no node.
pub(crate) fn follow_replicas(change: &mut Change<'_>, workload: &Object) {
    if text_of(workload, "kind") == "daemon" {
        return;
    }
    let wanted = replicas_of(workload);
    let base = budget_name(workload);
    let name = |index: u64| format!("{base}-{index}@{}", workload.id);
    let present: Vec<String> =
        change.world().pods().filter(|pod| pod.workload == workload.id).map(|pod| pod.name.clone()).collect();
    let keep: Vec<String> = (0..wanted).map(name).collect();
    for pod in present.iter().filter(|pod| !keep.contains(pod)) {
        change.remove_pod(pod);
    }
    for name in keep.into_iter().filter(|name| !present.contains(name)) {
        change.put_pod(Pod { name, workload: workload.id.clone(), machine: None, ready_at: 0 });
    }
    place(change);
}

/// Takes the pods of a workload away.
pub(crate) fn forget_workload(change: &mut Change<'_>, workload: &str) {
    let names: Vec<String> =
        change.world().pods().filter(|pod| pod.workload == workload).map(|pod| pod.name.clone()).collect();
    for name in names {
        change.remove_pod(&name);
    }
}

/// Puts the pods of a machine that is gone onto others.
pub(super) fn lose_machine(change: &mut Change<'_>, machine: &str) {
    let pods: Vec<Pod> =
        change.world().pods().filter(|pod| pod.machine.as_deref() == Some(machine)).cloned().collect();
    for mut pod in pods {
        pod.machine = None;
        change.put_pod(pod);
    }
    place(change);
}

/// Places every pod that has no node on the ready node that fits and has the fewest pods.
pub(crate) fn place(change: &mut Change<'_>) {
    let now = change.now();
    let waiting: Vec<Pod> = change.world().pods().filter(|pod| pod.machine.is_none()).cloned().collect();
    for mut pod in waiting {
        if let Some(machine) = best_node(change.world(), &pod, now) {
            pod.machine = Some(machine);
            pod.ready_at = now + EVICTION_MS;
            change.put_pod(pod);
        }
    }
}

/// The result of one round of a drain.
pub(crate) struct Eviction {
    /// How many pods left in this round.
    pub(crate) evicted: usize,
    /// The pods that may not be evicted now, each with the budget that forbids it.
    pub(crate) blocked: Vec<String>,
}

/// Evicts the pods of a node, as far as their budgets allow now.
pub(crate) fn evict(change: &mut Change<'_>, machine: &str, respect_budgets: bool) -> Eviction {
    let now = change.now();
    let pods: Vec<Pod> =
        change.world().pods().filter(|pod| pod.machine.as_deref() == Some(machine)).cloned().collect();
    let mut eviction = Eviction { evicted: 0, blocked: Vec::new() };
    for mut pod in pods {
        let world = change.world();
        let forbidden = world.object(&pod.workload).filter(|workload| {
            respect_budgets && is_ready(&pod, now) && allowance(world, workload, now) == Some(0)
        });
        if let Some(workload) = forbidden {
            eviction.blocked.push(format!(
                "pod {}: budget {} allows 0 disruptions",
                short(&pod.name),
                budget_name(workload)
            ));
            continue;
        }
        pod.machine = best_node(world, &pod, now);
        pod.ready_at = now + EVICTION_MS;
        change.put_pod(pod);
        eviction.evicted += 1;
    }
    eviction
}

/// The pods of each machine, by its identity.
pub(crate) fn by_machine(world: &World) -> BTreeMap<&str, Vec<&Pod>> {
    let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in world.pods() {
        if let Some(machine) = &pod.machine {
            pods.entry(machine).or_default().push(pod);
        }
    }
    pods
}

/// A pod's name without the part that makes it unique in the account.
pub(crate) fn short(name: &str) -> &str {
    name.split_once('@').map_or(name, |(short, _)| short)
}

/// The budgets that block the drain of a node with these pods now, and the number of rounds that it needs
/// otherwise.
pub(crate) fn outlook(world: &World, pods: &[&Pod], now: Millis) -> (Vec<String>, u64) {
    let mut by_workload: BTreeMap<&str, u64> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| is_ready(pod, now)) {
        *by_workload.entry(&pod.workload).or_default() += 1;
    }
    let mut blockers = Vec::new();
    let mut rounds = u64::from(!pods.is_empty());
    for (workload, count) in by_workload {
        let Some(workload) = world.object(workload) else { continue };
        match allowance(world, workload, now) {
            Some(0) => blockers.push(format!("budget {} allows 0 disruptions", budget_name(workload))),
            Some(allowed) => rounds = rounds.max(count.div_ceil(allowed)),
            None => {}
        }
    }
    (blockers, rounds)
}

fn best_node(world: &World, pod: &Pod, now: Millis) -> Option<String> {
    let workload = world.object(&pod.workload)?;
    let cluster = text_of(workload, "cluster");
    let mut load: BTreeMap<&str, usize> = BTreeMap::new();
    for other in world.pods() {
        if let Some(machine) = &other.machine {
            *load.entry(machine).or_default() += 1;
        }
    }
    let same = |machine: &str| {
        world
            .pods()
            .filter(|other| other.workload == pod.workload && other.machine.as_deref() == Some(machine))
            .count()
    };
    world
        .machines()
        .filter(|machine| machine.cluster == cluster && pod.machine.as_ref() != Some(&machine.id))
        .filter(|machine| machine.is_ready(now) && !machine.cordoned)
        .filter(|machine| fits(world, workload, machine))
        .min_by_key(|machine| {
            let load = load.get(machine.id.as_str()).copied().unwrap_or_default();
            (same(&machine.id), load, machine.id.as_str())
        })
        .map(|machine| machine.id.clone())
}

fn fits(world: &World, workload: &Object, machine: &Machine) -> bool {
    let Some(pool) = world.object(&machine.pool) else {
        return false;
    };
    let role = text_of(pool, "role");
    let label = |key: &str| -> Option<&str> {
        match key {
            "role" => Some(role),
            key => pool.attributes.get("node_labels")?.get(key)?.as_str(),
        }
    };
    role != "bastion"
        && workload
            .attributes
            .get("node_selector")
            .and_then(Value::as_map)
            .is_none_or(|selector| selector.iter().all(|(key, value)| label(key) == value.as_str()))
}

fn replicas_of(workload: &Object) -> u64 {
    let replicas = workload.attributes.get("replicas").and_then(Value::as_integer);
    u64::try_from(replicas.unwrap_or(1)).unwrap_or_default()
}

/// Whether any object is a workload of this cluster; spares the work where there is none.
pub(crate) fn has_workloads(world: &World) -> bool {
    world.count(WORKLOAD) > 0
}
