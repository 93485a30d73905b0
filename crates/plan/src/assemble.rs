//! Turns decisions about resources into one graph of steps.

mod rolls;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use rolls::all_machines;
use rolls::rolls;
use slipway_resource::provider::{ExpandNote, Rollout, operation};
use slipway_resource::{Address, ResourceType};

use crate::cascade::Cascades;
use crate::change::{ChangeAction, ResourceChange};
use crate::cordoned;
use crate::decide::Decision;
use crate::error::Error;
use crate::exclusives;
use crate::graph::Dependencies;
use crate::ignored::Ignored;
use crate::nodes::Gates;
use crate::providers::Providers;
use crate::reason::{Reason, ReasonCode};
use crate::state::Record;
use crate::step::{Step, StepAction};
use crate::step_graph::{Graph, NodeId};
use crate::turns;

/// All decisions. Resources without a change are only counted.
#[derive(Default)]
pub(crate) struct Decided {
    /// Behind pointers: the nodes of the tree are half empty, and a decision is large.
    pub by_address: BTreeMap<Address, Box<Decision>>,
    pub unchanged: u64,
    /// How many machines the unchanged pools of a role have, by the role.
    pub populated: BTreeMap<String, usize>,
    pub drift: Vec<ResourceChange>,
    /// Objects that stay and have no record, so that they need no step.
    pub kept: Vec<ResourceChange>,
    /// Properties of the spec that the infrastructure of unchanged resources does not implement.
    pub infrastructure_only: BTreeSet<String>,
    /// Remarks of providers on machines of unchanged pools.
    pub notes: Vec<ExpandNote>,
    /// Unchanged resources with differences that the spec says to leave alone.
    pub ignored: Vec<Ignored>,
}

impl Decided {
    pub fn insert(&mut self, mut decision: Decision) {
        self.drift.extend(decision.drift.take().map(|drift| *drift));
        let rolls = decision.rollout.as_ref().is_some_and(Rollout::has_leaving);
        let moves = decision.change.previous_address.is_some();
        if decision.change.action == ChangeAction::NoOp && !rolls && !moves && decision.surplus.is_empty() {
            self.unchanged += 1;
            let attributes = std::mem::take(&mut decision.change.ignored);
            if !attributes.is_empty() {
                self.ignored.push(Ignored { address: decision.change.address.clone(), attributes });
            }
            if let Some(rollout) = decision.rollout {
                self.notes.extend(remarks(&decision.change));
                if !rollout.members.is_empty() {
                    *self.populated.entry(rollout.group).or_default() += rollout.members.len();
                }
            }
            self.infrastructure_only.extend(decision.infrastructure_only);
        } else {
            self.by_address.insert(decision.change.address.clone(), Box::new(decision));
        }
    }
}

/// The remarks of a provider on a pool, which a plan has nowhere else if the pool does not change.
fn remarks(change: &ResourceChange) -> impl Iterator<Item = ExpandNote> {
    let said = change.reasons.iter().filter(|reason| reason.code == ReasonCode::Provider);
    said.map(|reason| ExpandNote { field: change.address.to_string(), message: reason.message.clone() })
}

/// A decision that is only a change.
pub(crate) fn plain(change: ResourceChange) -> Decision {
    Decision {
        change,
        surplus: Vec::new(),
        rollout: None,
        gates: Gates::None,
        anew: false,
        estimate_ms: None,
        unknown_after: Vec::new(),
        prepare: None,
        drift: None,
        infrastructure_only: None,
    }
}

/// A resource about which nothing can be decided.
pub(crate) fn deferred(
    address: &Address,
    provider: &str,
    record: Option<&Record>,
    reason: Reason,
) -> ResourceChange {
    ResourceChange {
        action: ChangeAction::Deferred,
        identity: record.map(|record| record.identity.clone()),
        reasons: vec![reason],
        ..ResourceChange::bare(address, provider, record.map_or(0, |record| record.schema_version))
    }
}

/// The nodes of one resource in the graph.
#[derive(Default)]
pub(crate) struct Nodes {
    /// The node that its dependents wait for.
    pub arrival: Option<NodeId>,
    /// The deletion of the old object.
    pub removal: Option<NodeId>,
    /// Whether the old object is deleted before the new one is created.
    pub removal_first: bool,
}

/// Builds the graph, and notes the machines of rolls in the changes.
///
/// # Errors
/// On a cycle, which only contradictory declarations of a provider can cause.
pub(crate) fn steps(
    decided: &mut Decided,
    dependencies: &Dependencies,
    standing_on: &BTreeMap<Address, BTreeSet<Address>>,
    providers: &Providers,
    cascades: &Cascades,
) -> Result<Vec<Step>, Error> {
    let type_of = |kind: &str| providers.of_type(kind).map(|(_, _, declared)| declared);
    let taken_from = exclusives::taken_from(decided, &type_of);
    exclusives::delete_first(decided, &taken_from);
    demote(decided, dependencies);
    match ordered(decided, dependencies, (standing_on, &taken_from), providers, cascades) {
        // Where deletion together with parents closes a cycle, every object is deleted by its own call.
        Err(Error::Cycle(_)) if !cascades.is_empty() => {
            ordered(decided, dependencies, (standing_on, &taken_from), providers, &Cascades::default())
        }
        result => result,
    }
}

fn ordered(
    decided: &mut Decided,
    dependencies: &Dependencies,
    (standing_on, taken_from): (&BTreeMap<Address, BTreeSet<Address>>, &BTreeMap<Address, Address>),
    providers: &Providers,
    cascades: &Cascades,
) -> Result<Vec<Step>, Error> {
    let mut graph = Graph::default();
    let mut nodes: BTreeMap<Address, Nodes> = BTreeMap::new();
    for (address, decision) in &decided.by_address {
        let Some((_, _, kind)) = providers.of_type(address.kind()) else {
            continue;
        };
        graph.declare(address.kind(), kind);
        nodes.insert(address.clone(), own_nodes(&mut graph, address, decision, kind, cascades));
    }
    arrivals_in_order(&mut graph, &nodes, decided, dependencies);
    updates_in_turn(&mut graph, &nodes, decided, dependencies);
    removals_in_order(&mut graph, &nodes, decided, standing_on, cascades);
    for (own, other) in taken_from {
        let gone = nodes.get(other).and_then(|other| other.removal);
        if let (Some(gone), Some(arrival)) = (gone, nodes.get(own).and_then(|own| own.arrival)) {
            graph.edge(gone, arrival);
        }
    }
    let duration_of = |kind: &str| {
        let (_, _, kind) = providers.of_type(kind)?;
        kind.operations.get(operation::PREPARE).map(|declared| declared.duration_ms)
    };
    turns::take(&mut graph, &nodes, decided, dependencies, &duration_of);
    let uncordoned = cordoned::steps(&mut graph, decided, &|kind| {
        providers.of_type(kind).map(|(_, _, declared)| declared)
    });
    rolls(&mut graph, &nodes, decided, (standing_on, &uncordoned), providers);
    forgets_last(&mut graph, &nodes, decided);
    graph.finish().map_err(Error::Cycle)
}

/// Turns a replacement that would be created first around, where an object that it depends on is deleted
/// first.
fn demote(decided: &mut Decided, dependencies: &Dependencies) {
    for address in dependencies.levels.iter().flatten() {
        let deleted_first = dependencies.by_address.get(address).into_iter().flatten().any(|needed| {
            decided
                .by_address
                .get(needed)
                .is_some_and(|decision| decision.change.action == ChangeAction::ReplaceDeleteFirst)
        });
        if let Some(decision) = decided.by_address.get_mut(address)
            && deleted_first
            && decision.change.action == ChangeAction::ReplaceCreateFirst
        {
            decision.change.action = ChangeAction::ReplaceDeleteFirst;
        }
    }
}

fn own_nodes(
    graph: &mut Graph,
    address: &Address,
    decision: &Decision,
    kind: &ResourceType,
    cascades: &Cascades,
) -> Nodes {
    let change = &decision.change;
    let identity = change.identity.clone();
    let estimate = |typical: u64| decision.estimate_ms.unwrap_or(typical);
    let mut nodes = Nodes::default();
    match change.action {
        ChangeAction::Create => {
            nodes.arrival =
                Some(graph.add(address, StepAction::Create, None, estimate(kind.durations.create_ms)));
        }
        ChangeAction::Update => {
            nodes.arrival =
                Some(graph.add(address, StepAction::Update, identity, estimate(kind.durations.update_ms)));
        }
        ChangeAction::Adopt | ChangeAction::Record => {
            nodes.arrival = Some(graph.add(address, StepAction::Record, identity, 0))
        }
        ChangeAction::Forget => nodes.removal = Some(graph.add(address, StepAction::Forget, identity, 0)),
        ChangeAction::Delete => {
            nodes.removal = Some(match cascades.parent(address).cloned() {
                Some(parent) => graph.add(address, StepAction::RemovedWithParent { parent }, identity, 0),
                None => {
                    let delete = StepAction::Delete { surplus: false };
                    graph.add(address, delete, identity, kind.durations.delete_ms)
                }
            });
        }
        ChangeAction::ReplaceDeleteFirst => {
            let delete = StepAction::Delete { surplus: false };
            let removal = graph.add(address, delete, identity, kind.durations.delete_ms);
            let arrival = graph.add(address, StepAction::Create, None, estimate(kind.durations.create_ms));
            graph.edge(removal, arrival);
            nodes = Nodes { arrival: Some(arrival), removal: Some(removal), removal_first: true };
        }
        ChangeAction::ReplaceCreateFirst => {
            let arrival = graph.add(address, StepAction::Create, None, estimate(kind.durations.create_ms));
            let delete = StepAction::Delete { surplus: true };
            let removal = graph.add(address, delete, identity, kind.durations.delete_ms);
            graph.edge(arrival, removal);
            nodes = Nodes { arrival: Some(arrival), removal: Some(removal), removal_first: false };
        }
        ChangeAction::NoOp | ChangeAction::Deferred => {}
    }
    if (change.previous_address.is_some() || change.retag) && !change.action.is_replace() {
        let tag = graph.add(address, StepAction::Tag, change.identity.clone(), kind.durations.update_ms);
        match nodes.arrival {
            Some(arrival) => graph.edge(tag, arrival),
            None => nodes.arrival = Some(tag),
        }
    }
    for surplus in &decision.surplus {
        let delete = StepAction::Delete { surplus: true };
        let extra = graph.add(address, delete, Some(surplus.identity.clone()), kind.durations.delete_ms);
        if let Some(arrival) = nodes.arrival {
            graph.edge(arrival, extra);
        }
        // What refers to the object is deleted, or changed, before it.
        nodes.removal.get_or_insert(extra);
    }
    nodes
}

/// A resource waits for those that it depends on, unless both exist and turns order their updates.
fn arrivals_in_order(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    dependencies: &Dependencies,
) {
    for (address, own) in nodes {
        let Some(arrival) = own.arrival else { continue };
        for needed in dependencies.by_address.get(address).into_iter().flatten() {
            if turns::decide(decided, dependencies, needed, address) {
                continue;
            }
            if let Some(earlier) = nodes.get(needed).and_then(|needed| needed.arrival) {
                graph.edge(earlier, arrival);
            }
        }
    }
}

/// Resources that must not change at the same time are updated one after the other, where no other order
/// applies.
fn updates_in_turn(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    dependencies: &Dependencies,
) {
    let update = |address: &Address| {
        let change = &decided.by_address.get(address)?.change;
        (change.action == ChangeAction::Update).then(|| nodes.get(address)?.arrival).flatten()
    };
    for (address, others) in &dependencies.in_turn {
        let Some(own) = update(address) else { continue };
        for earlier in others.iter().filter_map(update) {
            graph.preference(earlier, own);
        }
    }
}

/// A deletion waits until no object depends on the deleted one.
fn removals_in_order(
    graph: &mut Graph,
    nodes: &BTreeMap<Address, Nodes>,
    decided: &Decided,
    standing_on: &BTreeMap<Address, BTreeSet<Address>>,
    cascades: &Cascades,
) {
    let removal = |address: &Address| nodes.get(address).and_then(|nodes| nodes.removal);
    for (earlier, later) in cascades.behind_parents() {
        if let (Some(earlier), Some(later)) = (removal(earlier), removal(later)) {
            graph.edge(earlier, later);
        }
    }
    for (dependent, needs) in standing_on {
        let Some(own) = nodes.get(dependent) else { continue };
        if is_forgotten(decided, dependent) {
            // The object is gone already, or stays: no step has to wait until the state forgets it.
            continue;
        }
        for needed in needs {
            let Some((other, last)) = nodes.get(needed).and_then(|other| Some((other, other.removal?)))
            else {
                continue;
            };
            match (own.removal, own.arrival) {
                (Some(_), _) => {
                    for (earlier, later) in cascades.order(dependent, needed) {
                        if let (Some(earlier), Some(later)) = (removal(earlier), removal(later)) {
                            graph.edge(earlier, later);
                        }
                    }
                }
                // The dependent stays and releases the old object by its own change, unless that change can
                // only come later.
                (None, Some(earlier)) if !other.removal_first => {
                    graph.preference(earlier, last);
                    if let Some(with) = cascades.parent(needed).and_then(removal) {
                        graph.preference(earlier, with);
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_forgotten(decided: &Decided, address: &Address) -> bool {
    decided.by_address.get(address).is_some_and(|decision| decision.change.action == ChangeAction::Forget)
}

/// The state forgets records after all other steps: a run that fails keeps them.
fn forgets_last(graph: &mut Graph, nodes: &BTreeMap<Address, Nodes>, decided: &Decided) {
    let forgets: BTreeSet<NodeId> = nodes
        .iter()
        .filter(|(address, _)| is_forgotten(decided, address))
        .filter_map(|(_, nodes)| nodes.removal)
        .collect();
    if forgets.is_empty() {
        return;
    }
    for last in graph.ends(&forgets) {
        forgets.iter().for_each(|forget| graph.edge(last, *forget));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::workers;

    #[test]
    fn remarks_on_the_machines_of_an_unchanged_pool_become_notes() {
        let mut change = ResourceChange::bare(&Address::new("pool", "nodes"), "any", 1);
        change.reasons.push(Reason::new(ReasonCode::Provider, "machine a stays"));
        let mut decided = Decided::default();
        decided.insert(Decision { rollout: Some(workers()), ..plain(change) });
        assert!(decided.by_address.is_empty());
        let note = ExpandNote { field: "pool.nodes".to_owned(), message: "machine a stays".to_owned() };
        assert_eq!(decided.notes, [note]);
    }
}
