//! The steps of rolls, and the machines that a plan shows.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::Address;
use slipway_resource::provider::{Fate, Member, Rollout};

use super::{Decided, Nodes};
use crate::change::{ChangeAction, MachineChange, MachineNode};
use crate::nodes::Gates;
use crate::providers::Providers;
use crate::rollout::{self, Pool};
use crate::step_graph::{Graph, NodeId};
use crate::succession;

/// The steps with which nodes take pods again, by the pool of the nodes.
type Uncordoned = BTreeMap<Address, Vec<NodeId>>;

/// Rolls come after the change of their pool and after the groups that they wait for, one at a time where
/// exclusive. A node of the pool that takes pods again does so before a machine leaves.
pub(super) fn rolls(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &mut Decided,
    (standing_on, uncordoned): (&BTreeMap<Address, BTreeSet<Address>>, &Uncordoned),
    providers: &Providers,
) {
    let mut order: Vec<(usize, Address)> = decided
        .by_address
        .iter()
        .filter_map(|(address, decision)| Some((decision.rollout.as_ref()?.after.len(), address.clone())))
        .collect();
    // Groups that wait for no other group come first, so that `ends` has the steps that the other groups wait
    // for.
    order.sort();
    let arrivals = succession::arrivals(nodes, decided);
    let mut ends: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for (_, address) in order {
        let Some(decision) = decided.by_address.get_mut(&address) else {
            continue;
        };
        let (Some(rollout), Some((_, _, kind))) = (&decision.rollout, providers.of_type(address.kind()))
        else {
            continue;
        };
        let own = nodes.get(&address);
        // The deletion of a pool waits for no group: resources that it depends on may have to wait for it.
        let goes = decision.change.action == ChangeAction::Delete;
        let after = rollout.after.iter().filter(|_| !goes);
        let groups: Vec<NodeId> = after.filter_map(|group| ends.get(group)).flatten().copied().collect();
        let arrival = own.and_then(|own| own.arrival);
        if let Some(arrival) = arrival {
            // The pool's own change comes after those groups too: it may start machines.
            groups.iter().for_each(|end| graph.edge(*end, arrival));
        }
        if decision.change.action.is_replace() {
            continue;
        }
        let mut before: Vec<NodeId> = groups;
        before.extend(arrival);
        before.extend(uncordoned.get(&address).into_iter().flatten());
        if rollout.exclusive {
            before.extend(ends.get(&rollout.group).into_iter().flatten());
        }
        if rollout.has_leaving() {
            for gate in &rollout.prerequisites {
                let declared = providers.of_type(gate.address.kind());
                let estimate = declared
                    .and_then(|(_, _, kind)| kind.operations.get(&gate.operation))
                    .map_or(0, |operation| operation.duration_ms);
                let after: Vec<NodeId> =
                    nodes.get(&gate.address).and_then(|other| other.arrival).into_iter().collect();
                if let Some((_, _, kind)) = declared {
                    graph.declare(gate.address.kind(), kind);
                }
                let identity = gate.identity.as_ref();
                let node = graph.operation(
                    &gate.address,
                    identity,
                    &gate.operation,
                    gate.arguments.clone(),
                    (estimate, 0),
                    &after,
                );
                before.push(node);
            }
        }
        let identity = decision.change.identity.as_ref();
        let node_kind = match &decision.gates {
            Gates::OfNodes { kind, .. } => providers.of_type(kind).map(|(_, _, declared)| declared),
            Gates::None | Gates::OfPool => None,
        };
        let pool = Pool { address: &address, identity, kind, gates: &decision.gates, nodes: node_kind };
        let size = graph.size();
        let through = rollout::steps(graph, &pool, (rollout, decision.anew), &before);
        let removal = own.and_then(|own| own.removal);
        if let Some(removal) = removal {
            through.iter().for_each(|end| graph.edge(*end, removal));
        }
        // Where machines take over the disks of others, no pool gets them before the last machine of a pool that goes has left.
        if rollout.exclusive && succession::leaves(decision) {
            for arrival in arrivals.exclusive.get(&rollout.group).into_iter().flatten() {
                through.iter().chain(&removal).for_each(|end| graph.edge(*end, *arrival));
            }
        }
        // The machines of a deleted pool leave when those of the other pools of its role are there.
        for arrival in arrivals.beside.get(&rollout.group).into_iter().flatten().filter(|_| goes) {
            graph.preference_since(size, *arrival);
            removal.into_iter().for_each(|removal| graph.preference(*arrival, removal));
        }
        // Its machines may still use the resource that it depended on, which is deleted after the last of
        // them.
        for needed in standing_on.get(&address).into_iter().flatten().filter(|_| !goes) {
            if let Some(last) = nodes.get(needed).filter(|other| !other.removal_first)
                && let Some(removal) = last.removal
            {
                through.iter().for_each(|end| graph.preference(*end, removal));
            }
        }
        let group = ends.entry(rollout.group.clone()).or_default();
        if rollout.exclusive && !through.is_empty() {
            group.clear();
        }
        group.extend(through);
        decision.change.machines = machines(rollout, &decision.gates);
    }
}

/// Every machine of a pool, as one to be replaced. None is drained, so that no drain blocks the deletion.
pub(crate) fn all_machines(rollout: &Rollout, reason: &str) -> Vec<MachineChange> {
    let replaced = |member| MachineChange { blockers: Vec::new(), ..machine(member, None, true, reason) };
    rollout.members.iter().map(replaced).collect()
}

fn machines(rollout: &Rollout, gates: &Gates) -> Vec<MachineChange> {
    let node = |member: &Member| match gates {
        Gates::OfNodes { by_member, .. } if rollout.drains() => by_member.get(&member.identity).cloned(),
        _ => None,
    };
    rollout
        .members
        .iter()
        .filter_map(|member| match &member.fate {
            Fate::Keep => None,
            Fate::Replace { reason, .. } => Some(machine(member, node(member), true, reason)),
            Fate::Retire { reason } => Some(machine(member, node(member), false, reason)),
        })
        .collect()
}

fn machine(member: &Member, node: Option<MachineNode>, replaced: bool, reason: &str) -> MachineChange {
    MachineChange {
        name: member.name.clone(),
        identity: member.identity.clone(),
        node,
        replaced,
        reason: reason.to_owned(),
        blockers: member.blockers.clone(),
    }
}
