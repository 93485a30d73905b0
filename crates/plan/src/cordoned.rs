//! Uncordons nodes that an earlier run cordoned and that stay.
//!
//! A roll cordons a node before its machine is deleted. If the run ends between the two, and the next plan
//! keeps the machine, no other step would uncordon the node. A node that a person cordoned has no mark of
//! Slipway and does not change.

use std::collections::BTreeMap;

use slipway_resource::provider::operation;
use slipway_resource::{Address, ResourceType, Value};

use crate::assemble::{Decided, plain};
use crate::change::{ChangeAction, MachineNode, RecordTemplate, ResourceChange};
use crate::file::Mode;
use crate::nodes::{Gates, Nodes};
use crate::planner::Inputs;
use crate::reason::{Reason, ReasonCode};
use crate::requested;
use crate::state::Record;
use crate::step_graph::{Graph, NodeId};

/// Names the nodes that are still cordoned in the changes of their pools.
pub(crate) async fn take_back(
    inputs: &Inputs<'_>,
    records: &BTreeMap<Address, Record>,
    nodes: &mut Nodes<'_>,
    decided: &mut Decided,
) {
    let Some(prior) = inputs.prior.filter(|_| inputs.mode == Mode::Apply) else { return };
    for (node, cordoned) in &prior.cordoned {
        let pool = &cordoned.pool;
        if inputs.options.is_partial() && !requested::is_abandoned(inputs, pool) {
            continue;
        }
        if leaves(decided, pool, node) || !nodes.has(node, &cordoned.identity).await {
            continue;
        }
        if !decided.by_address.contains_key(pool) {
            let Some(change) = records.get(pool).and_then(|record| recorded(pool, record)) else { continue };
            decided.unchanged = decided.unchanged.saturating_sub(1);
            decided.by_address.insert(pool.clone(), Box::new(plain(change)));
        }
        let Some(decision) = decided.by_address.get_mut(pool) else { continue };
        if decision.change.action == ChangeAction::NoOp && decision.rollout.is_none() {
            decision.change.action = ChangeAction::Record;
        }
        let text = format!(
            "an earlier run cordoned the node {} and did not remove its machine: it takes pods again",
            node.name()
        );
        decision.change.reasons.push(Reason::new(ReasonCode::LeftCordoned, text));
        decision
            .change
            .uncordoned
            .push(MachineNode { address: node.clone(), identity: cordoned.identity.clone() });
    }
}

/// Whether the plan removes the machine of a node, or cordons the node once more.
fn leaves(decided: &Decided, pool: &Address, node: &Address) -> bool {
    let Some(decision) = decided.by_address.get(pool) else { return false };
    let change = &decision.change;
    let goes = matches!(
        change.action,
        ChangeAction::Delete | ChangeAction::Forget | ChangeAction::Create | ChangeAction::Deferred
    );
    if goes
        || change.action.is_replace()
        || change.drained.as_ref().is_some_and(|drained| drained.address == *node)
    {
        return true;
    }
    let (Gates::OfNodes { by_member, .. }, Some(rollout)) = (&decision.gates, &decision.rollout) else {
        return false;
    };
    rollout
        .members
        .iter()
        .filter(|member| member.fate != slipway_resource::provider::Fate::Keep)
        .any(|member| by_member.get(&member.identity).is_some_and(|other| other.address == *node))
}

/// The change of a pool of which nothing else changes: its record stays as it is.
fn recorded(pool: &Address, record: &Record) -> Option<ResourceChange> {
    Some(ResourceChange {
        action: ChangeAction::Record,
        identity: Some(record.identity.clone()),
        record: RecordTemplate {
            applied: record.applied.clone()?,
            depends_on: record.depends_on.clone(),
            retain: record.retain,
            protected: record.protected,
            existing: record.existing,
            as_found: record.as_found.clone(),
            untagged: record.untagged,
        },
        ..ResourceChange::bare(pool, &record.provider, record.schema_version)
    })
}

/// Adds the steps that let the named nodes take pods again. Returns them by pool.
pub(crate) fn steps<'a>(
    graph: &mut Graph,
    decided: &Decided,
    type_of: &dyn Fn(&str) -> Option<&'a ResourceType>,
) -> BTreeMap<Address, Vec<NodeId>> {
    let mut by_pool: BTreeMap<Address, Vec<NodeId>> = BTreeMap::new();
    for (pool, decision) in &decided.by_address {
        for node in &decision.change.uncordoned {
            let Some(kind) = type_of(node.address.kind()) else { continue };
            graph.declare(node.address.kind(), kind);
            let duration =
                kind.operations.get(operation::UNCORDON).map_or(0, |declared| declared.duration_ms);
            let temporary = Value::map([(operation::TEMPORARY, Value::Bool(true))]);
            let identity = Some(&node.identity);
            let step =
                graph.operation(&node.address, identity, operation::UNCORDON, temporary, (duration, 0), &[]);
            graph.part_of_roll(step, pool);
            by_pool.entry(pool.clone()).or_default().push(step);
        }
    }
    by_pool
}
