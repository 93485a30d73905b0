//! Updates in turn: one unit first, then within the budget, and nothing after a failure.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::operation;
use slipway_resource::{Address, Turn, Value};

use crate::assemble::{Decided, Nodes};
use crate::change::{ChangeAction, MachineNode};
use crate::graph::Dependencies;
use crate::step_graph::{Graph, NodeId};

/// A unit of a group, as far as it changes.
struct Unit {
    rank: u32,
    name: String,
    at_once: usize,
    nodes: Vec<NodeId>,
    /// Those of its changes before which a node is drained.
    drains: Vec<Address>,
}

/// Has the units of each group change in their turn, and what they need prepared before the first of them. `duration_of` says
/// how long the gate [`operation::PREPARE`] of a type takes in milliseconds; none where it has no such gate.
///
/// Cost is linear in what changes, times how many units may change at once.
pub(crate) fn take(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    dependencies: &Dependencies,
    duration_of: &dyn Fn(&str) -> Option<u64>,
) {
    let mut groups = groups(nodes, decided, dependencies);
    for unit in groups.values_mut().flatten() {
        drained(graph, unit, decided);
    }
    let mut prepared = prepare(graph, nodes, decided, dependencies, duration_of);
    for (group, units) in groups {
        let prepared = prepared.remove(group).unwrap_or_default();
        in_turn(graph, &units, &prepared);
    }
}

/// The changes of each group, by rank and name.
fn groups<'a>(
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    dependencies: &'a Dependencies,
) -> BTreeMap<&'a str, Vec<Unit>> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Unit>> = BTreeMap::new();
    for (address, turn) in &dependencies.turns {
        if !changes(decided, address) {
            continue;
        }
        let Some(own) = nodes.get(address) else { continue };
        let Turn { group, unit, rank, at_once } = turn;
        let at_once = (*at_once).max(1) as usize;
        let units = groups.entry(group).or_default();
        let unit = units.entry(unit).or_insert_with(|| Unit {
            rank: *rank,
            name: unit.clone(),
            at_once,
            nodes: Vec::new(),
            drains: Vec::new(),
        });
        if decided.by_address.get(address).is_some_and(|decision| decision.change.drained.is_some()) {
            unit.drains.push(address.clone());
        }
        unit.rank = unit.rank.min(*rank);
        unit.at_once = unit.at_once.min(at_once);
        unit.nodes.extend(own.removal.into_iter().chain(own.arrival));
    }
    let sorted = |units: BTreeMap<&str, Unit>| {
        let mut units: Vec<Unit> = units.into_values().collect();
        units.sort_by(|one, other| (one.rank, &one.name).cmp(&(other.rank, &other.name)));
        units
    };
    groups.into_iter().map(|(group, units)| (group, sorted(units))).collect()
}

/// Whether turns alone say which of two updates comes first: they are of different units of one group, and the later one takes no
/// value from the other. That a pod needs a kubelet, as an example, says nothing of the order in which both are upgraded.
pub(crate) fn decide(
    decided: &Decided,
    dependencies: &Dependencies,
    needed: &Address,
    dependent: &Address,
) -> bool {
    let turn = |address: &Address| dependencies.turns.get(address);
    let (Some(one), Some(other)) = (turn(needed), turn(dependent)) else { return false };
    let updates = |address: &Address| {
        let change = decided.by_address.get(address).map(|decision| &decision.change);
        change.filter(|change| change.action == ChangeAction::Update)
    };
    let (Some(_), Some(change)) = (updates(needed), updates(dependent)) else { return false };
    let mut refers = false;
    change.after.for_each_reference(&mut |reference| refers |= reference.address == *needed);
    one.group == other.group && one.unit != other.unit && !refers
}

/// Whether something that is there changes, or is deleted in a turn of its own.
fn changes(decided: &Decided, address: &Address) -> bool {
    decided.by_address.get(address).map(|decision| decision.change.action).is_some_and(|action| {
        matches!(action, ChangeAction::Update | ChangeAction::Delete) || action.is_replace()
    })
}

/// How long a drain usually takes, and how long it may take, in milliseconds.
pub(crate) const DRAIN_MS: (u64, u64) = (60_000, 900_000);

/// Drains the nodes of a unit before anything of it changes, and has them take pods again when all of it is done. The gates belong
/// to the unit: the next one begins after them.
fn drained(graph: &mut Graph, unit: &mut Unit, decided: &Decided) {
    let changes = unit.nodes.clone();
    for address in &unit.drains {
        let node = decided.by_address.get(address).and_then(|decision| decision.change.drained.as_ref());
        let Some(MachineNode { address: node, identity }) = node else { continue };
        let mut gate = |name: &str, arguments: Value, times: (u64, u64), after: &[NodeId]| {
            let gate = graph.operation(node, Some(identity), name, arguments, times, after);
            graph.part_of_roll(gate, address);
            gate
        };
        let temporary = || Value::map([(operation::TEMPORARY, Value::Bool(true))]);
        let limit = i64::try_from(DRAIN_MS.1).unwrap_or(i64::MAX);
        let cordon = gate(operation::CORDON, temporary(), (1_000, 0), &[]);
        let drain =
            gate(operation::DRAIN, Value::map([("timeout_ms", Value::Integer(limit))]), DRAIN_MS, &[cordon]);
        let uncordon = gate(operation::UNCORDON, temporary(), (1_000, 0), &changes);
        changes.iter().for_each(|change| graph.edge(drain, *change));
        unit.nodes.extend([cordon, drain, uncordon]);
    }
}

fn in_turn(graph: &mut Graph, units: &[Unit], prepared: &[NodeId]) {
    let members: Vec<Vec<NodeId>> = units.iter().map(|unit| unit.nodes.clone()).collect();
    let (order, entwined) = graph.order_of(&members);
    let ordered: Vec<&Unit> = order.iter().chain(&entwined).filter_map(|unit| units.get(*unit)).collect();
    let is_certain = entwined.is_empty();
    let widest = units.iter().map(|unit| unit.at_once).max().unwrap_or(1);
    for (position, unit) in ordered.iter().enumerate() {
        let earlier: Vec<&Unit> = match position.checked_sub(side_by_side(&ordered, position)) {
            _ if position == 0 => Vec::new(),
            // The first changes alone.
            None => ordered.first().copied().into_iter().collect(),
            // Those before these come before them in their turn.
            Some(last) => ordered.iter().take(last + 1).rev().take(widest).copied().collect(),
        };
        for node in &unit.nodes {
            if position == 0 {
                prepared.iter().for_each(|gate| graph.edge(*gate, *node));
            }
            for earlier in earlier.iter().flat_map(|earlier| &earlier.nodes) {
                if is_certain {
                    graph.edge(*earlier, *node);
                } else {
                    graph.preference(*earlier, *node);
                }
            }
        }
    }
}

/// How many units may change at the same time up to the one at this position: as many as each of them allows.
fn side_by_side(ordered: &[&Unit], position: usize) -> usize {
    let mut limit = usize::MAX;
    let mut count = 0;
    for unit in ordered.iter().take(position + 1).rev() {
        limit = limit.min(unit.at_once);
        if count >= limit {
            break;
        }
        count += 1;
    }
    count
}

/// Adds the gates that prepare changes, each before its own change; returns those of the groups.
fn prepare<'a>(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    dependencies: &'a Dependencies,
    duration_of: &dyn Fn(&str) -> Option<u64>,
) -> BTreeMap<&'a str, Vec<NodeId>> {
    let mut prepared: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    let mut free = Free { dependencies, known: BTreeMap::new() };
    for (address, decision) in &decided.by_address {
        let Some(arguments) = decision.prepare.as_ref().filter(|_| changes(decided, address)) else {
            continue;
        };
        let Some(duration) = duration_of(address.kind()) else { continue };
        // Its own dependencies, such as an agent, unless they have to wait for a turn.
        let needs = dependencies.by_address.get(address).into_iter().flatten();
        let needs: Vec<&Address> = needs.filter(|needed| free.is(needed)).collect();
        let after: Vec<NodeId> = needs
            .into_iter()
            .filter_map(|needed| nodes.get(needed).and_then(|needed| needed.arrival))
            .collect();
        let identity = decision.change.identity.as_ref();
        let gate =
            graph.operation(address, identity, operation::PREPARE, arguments.clone(), (duration, 0), &after);
        if let Some(own) = nodes.get(address) {
            own.removal.into_iter().chain(own.arrival).for_each(|change| graph.edge(gate, change));
        }
        if let Some(turn) = dependencies.turns.get(address) {
            prepared.entry(turn.group.as_str()).or_default().push(gate);
        }
    }
    prepared
}

/// Resources without a dependency that takes turns.
struct Free<'a> {
    dependencies: &'a Dependencies,
    known: BTreeMap<&'a Address, bool>,
}

impl<'a> Free<'a> {
    fn is(&mut self, address: &'a Address) -> bool {
        let mut stack = vec![(address, false)];
        let mut entered: BTreeSet<&Address> = BTreeSet::new();
        while let Some((next, is_left)) = stack.pop() {
            if self.known.contains_key(next) {
                continue;
            }
            let needs = self.dependencies.by_address.get(next).map(Vec::as_slice).unwrap_or_default();
            if is_left {
                let is_free = !self.dependencies.turns.contains_key(next)
                    && needs.iter().all(|needed| self.known.get(needed).copied().unwrap_or(false));
                self.known.insert(next, is_free);
            } else if entered.insert(next) {
                stack.push((next, true));
                stack.extend(needs.iter().map(|needed| (needed, false)));
            }
        }
        self.known.get(address).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests;
