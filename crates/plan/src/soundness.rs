//! Checks that the steps of a plan do what its changes say.
//!
//! Reviewers and policies read the changes, but the engine carries out the steps. A plan file may have been
//! edited. A plan is therefore refused when a step has no change that shows it, a change has no step, or a step of a roll does not
//! wait for those that come before it, or a change shows another value than its step sends.

pub(crate) mod rolls;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::operation;
use slipway_resource::schema::Held;
use slipway_resource::{Address, Identity, ResourceType, Value};

use crate::change::{ChangeAction, MachineNode, ResourceChange};
use crate::file::{Mode, Plan};
use crate::state::Snapshot;
use crate::step::{Step, StepAction, StepId};

/// The first fault of a plan, as a sentence about a step or change; `None` when its steps do what its changes
/// say.
pub(crate) fn fault(plan: &Plan) -> Option<String> {
    let changes: BTreeMap<&Address, &ResourceChange> =
        plan.changes.iter().chain(&plan.kept).map(|change| (&change.address, change)).collect();
    if changes.len() != plan.changes.len() + plan.kept.len() {
        return Some("a resource has two changes".to_owned());
    }
    if plan.mode == Mode::Drift && !plan.steps.is_empty() {
        return Some("a report of drift has steps".to_owned());
    }
    let mut done: BTreeMap<&Address, Vec<&Step>> = BTreeMap::new();
    for (position, step) in plan.steps.iter().enumerate() {
        if let Some(fault) = order(position, step, plan.steps.len()).or_else(|| purpose(step, &changes, plan))
        {
            return Some(fault);
        }
        let before = done.get(&step.address).map(Vec::as_slice).unwrap_or_default();
        if step.action == StepAction::Create && before.iter().any(|step| step.action == StepAction::Create) {
            return Some(format!("{} is created by two steps", step.address));
        }
        done.entry(&step.address).or_default().push(step);
    }
    let undone = |change: &&ResourceChange| {
        let steps = done.get(&change.address).map(Vec::as_slice).unwrap_or_default();
        !wanted(change).iter().all(|wanted| steps.iter().any(|step| wanted(step)))
    };
    if plan.mode == Mode::Drift {
        return None;
    }
    // A kept object may have no record, and then there is no step that forgets it.
    if let Some(change) = plan.changes.iter().find(undone) {
        return Some(format!("no step does what the change of {} shows", change.address));
    }
    rolls::fault(&plan.changes, &plan.steps).or_else(|| shown::fault(plan, &changes))
}

/// Steps are numbered in an order in which they can be carried out.
pub(crate) fn order(position: usize, step: &Step, count: usize) -> Option<String> {
    if step.id.index() != position {
        return Some(format!("step {} is the number {position} of the plan", step.id));
    }
    let unknown = |earlier: &&StepId| earlier.index() >= count;
    if let Some(earlier) = step.depends_on.iter().find(unknown) {
        return Some(format!("{} waits for step {earlier}, which does not exist", step.title()));
    }
    let later = step.depends_on.iter().find(|earlier| earlier.index() >= position)?;
    Some(format!("{} waits for step {later}, which comes later", step.title()))
}

/// Checks that a step belongs to a change that shows it.
fn purpose(step: &Step, changes: &BTreeMap<&Address, &ResourceChange>, plan: &Plan) -> Option<String> {
    let hidden = |why: &str| Some(format!("{}, and {why}", step.title()));
    if let Some(pool) = &step.roll {
        return if node_gate_is_shown(step, pool, changes) {
            None
        } else {
            hidden("no roll of the plan shows this node")
        };
    }
    let Some(change) = changes.get(&step.address) else {
        return match &step.action {
            // A roll may wait for a gate of a resource that does not change.
            StepAction::Operation { name, arguments }
                if is_harmless(name) && arguments.get("member").is_none() =>
            {
                None
            }
            _ => hidden("the plan shows no change of this resource"),
        };
    };
    let is_own = step.identity == change.identity;
    let shown = match &step.action {
        StepAction::Create => change.action == ChangeAction::Create || change.action.is_replace(),
        StepAction::Update => change.action == ChangeAction::Update && is_own,
        StepAction::Record => matches!(change.action, ChangeAction::Adopt | ChangeAction::Record) && is_own,
        StepAction::Forget => change.action == ChangeAction::Forget && is_own,
        StepAction::Tag => (change.previous_address.is_some() || change.retag) && is_own,
        StepAction::Delete { surplus: false } => {
            matches!(change.action, ChangeAction::Delete | ChangeAction::ReplaceDeleteFirst) && is_own
        }
        StepAction::Delete { surplus: true } if is_own => change.action == ChangeAction::ReplaceCreateFirst,
        StepAction::Delete { surplus: true } => {
            step.identity.as_ref().is_some_and(|identity| change.surplus.contains(identity))
        }
        StepAction::RemovedWithParent { parent } => {
            let goes = |change: &&ResourceChange| {
                change.action == ChangeAction::Delete || change.action.is_replace()
            };
            change.action == ChangeAction::Delete && is_own && changes.get(parent).is_some_and(goes)
        }
        StepAction::Operation { name, arguments } => {
            (is_own || is_harmless(name)) && gate_is_shown(name, arguments, change, plan)
        }
    };
    if shown { None } else { hidden("the change of this resource shows something else") }
}

/// A gate on a machine is one on a machine that the change names. One that only looks or waits may be on any: a machine that an
/// interrupted roll has made already is verified, and the change does not name it any more.
fn gate_is_shown(name: &str, arguments: &Value, change: &ResourceChange, plan: &Plan) -> bool {
    if let Some(member) = arguments.get("member").and_then(Value::as_str) {
        let member = Identity::new(member);
        let is_named = change.machines.iter().any(|machine| machine.identity == member);
        return is_harmless(name) || (!change.action.is_replace() && is_named);
    }
    // New machines come only when machines go; there are more of them when the pool grows too.
    match arguments.get("slot") {
        Some(_) => plan.mode == Mode::Apply && !change.machines.is_empty(),
        None => is_harmless(name),
    }
}

/// A gate on a node is one on the node that is drained for a change, or on that of a machine that the roll of its pool names. A
/// gate that only waits may be on any node.
fn node_gate_is_shown(step: &Step, pool: &Address, changes: &BTreeMap<&Address, &ResourceChange>) -> bool {
    let (StepAction::Operation { name, .. }, Some(change)) = (&step.action, changes.get(pool)) else {
        return false;
    };
    let is_step_on =
        |node: &MachineNode| node.address == step.address && Some(&node.identity) == step.identity.as_ref();
    if name == operation::UNCORDON && change.uncordoned.iter().any(is_step_on) {
        return true;
    }
    if let Some(node) = &change.drained {
        let drains = matches!(name.as_str(), operation::CORDON | operation::DRAIN | operation::UNCORDON);
        return change.action == ChangeAction::Update && drains && is_step_on(node);
    }
    if change.action.is_replace() || change.machines.is_empty() {
        return false;
    }
    match name.as_str() {
        operation::VERIFY => true,
        operation::CORDON | operation::DRAIN => {
            change.machines.iter().filter_map(|machine| machine.node.as_ref()).any(is_step_on)
        }
        _ => false,
    }
}

/// Whether a gate only looks, waits or prepares.
fn is_harmless(name: &str) -> bool {
    !matches!(name, operation::SURGE | operation::CORDON | operation::DRAIN | operation::REMOVE)
}

type Does = fn(&Step) -> bool;

/// The steps without which a change is not done.
fn wanted(change: &ResourceChange) -> Vec<Does> {
    let create: Does = |step| step.action == StepAction::Create;
    let delete: Does =
        |step| matches!(step.action, StepAction::Delete { .. } | StepAction::RemovedWithParent { .. });
    let mut wanted: Vec<Does> = match change.action {
        ChangeAction::Create => vec![create],
        ChangeAction::Update => vec![|step| step.action == StepAction::Update],
        ChangeAction::Delete => vec![delete],
        ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => vec![create, delete],
        ChangeAction::Forget => vec![|step| step.action == StepAction::Forget],
        ChangeAction::Adopt | ChangeAction::Record => vec![|step| step.action == StepAction::Record],
        ChangeAction::NoOp | ChangeAction::Deferred => Vec::new(),
    };
    if change.retag {
        wanted.push(|step| step.action == StepAction::Tag);
    }
    wanted
}

/// A loss that has to be confirmed by name and that the plan does not mark so, as a sentence.
pub(crate) fn hidden_loss<'a>(
    plan: &Plan,
    type_of: &dyn Fn(&str) -> Option<&'a ResourceType>,
    prior: Option<&Snapshot>,
) -> Option<String> {
    let mut last: BTreeMap<String, Vec<&ResourceChange>> = BTreeMap::new();
    for change in &plan.changes {
        let is_replaced = change.action.is_replace();
        if !is_replaced && change.action != ChangeAction::Delete {
            continue;
        }
        let Some(kind) = type_of(change.address.kind()) else { continue };
        let is_protected = prior
            .and_then(|prior| prior.resources.get(&change.address))
            .is_some_and(|record| record.protected);
        let held = match &kind.irreplaceable {
            Some(rule) if !change.before.is_null() => rule.held(change.identity.as_ref(), &change.before),
            _ => Held::Nothing,
        };
        if let (Held::Known(print), false) = (&held, is_replaced) {
            last.entry(print.clone()).or_default().push(change);
        }
        let is_loss = kind.stateful || is_protected || (is_replaced && held != Held::Nothing);
        if is_loss && change.confirmation.is_none() {
            return Some(unmarked(change));
        }
    }
    // The last object that holds something is marked; copies may go as long as one stays.
    let gone: BTreeSet<&Address> = plan
        .changes
        .iter()
        .filter(|change| change.action == ChangeAction::Delete)
        .map(|change| &change.address)
        .collect();
    let stays = |address: &Address| {
        !gone.contains(address) && type_of(address.kind()).is_some_and(|kind| kind.irreplaceable.is_some())
    };
    let one_stays = prior.is_some_and(|prior| prior.resources.keys().any(stays));
    let unnamed =
        |holders: &&Vec<&ResourceChange>| holders.iter().all(|change| change.confirmation.is_none());
    let holders = last.values().find(unnamed).filter(|_| !one_stays)?;
    holders.first().map(|change| unmarked(change))
}

/// The change loses what it holds, as a sentence.
pub(crate) fn unmarked(change: &ResourceChange) -> String {
    format!("{} loses what it holds, and the plan asks for no confirmation", change.address)
}

#[cfg(test)]
mod tests;
