//! The parts of a plan file that follow from its other parts, without the types, the state and the providers.

use std::collections::BTreeSet;

use slipway_resource::Value;
use slipway_resource::provider::operation;

use super::{binding, dependencies, manner};
use crate::change::{ChangeAction, MachineChange, ResourceChange};
use crate::estimate::estimate_ms;
use crate::file::{Mode, Plan};
use crate::lint::lint;
use crate::queue::ReadyQueue;
use crate::requested;
use crate::step::{Step, StepAction};

/// The most rate classes that the steps of a plan count against: the queue of steps looks at each of them for each step.
const MOST_CLASSES: usize = 1_000;

/// The first part that does not follow from the rest of the file, as a sentence.
pub(crate) fn fault(plan: &Plan) -> Option<String> {
    if plan.mode == Mode::Drift {
        // A report of drift carries out nothing.
        return binding::digests(plan);
    }
    binding::digests(plan)
        .or_else(|| binding::settings(plan))
        .or_else(|| plan.steps.iter().find_map(order))
        .or_else(|| plan.steps.iter().find_map(arguments))
        .or_else(|| totals(plan))
        .or_else(|| manner::timeouts(&plan.changes, &plan.steps))
        .or_else(|| plan.changes.iter().find_map(|change| source(change, plan)))
        .or_else(|| plan.changes.iter().find_map(|change| machines(change, plan)))
        .or_else(|| dependencies::of_file(plan))
        .or_else(|| lint(plan, &|_| None).into_iter().next())
}

/// Steps that come before another one are listed once, in their order.
fn order(step: &Step) -> Option<String> {
    let is_sorted = step.depends_on.is_sorted_by(|earlier, later| earlier < later);
    (!is_sorted).then(|| format!("depends_on of {} is not sorted", step.title()))
}

/// The first argument of a step of a roll that the planner does not give to its operation, as a sentence.
fn arguments(step: &Step) -> Option<String> {
    let StepAction::Operation { name, arguments: Value::Map(given) } = &step.action else { return None };
    let known: &[&str] = match name.as_str() {
        operation::SURGE => &["slot", "anew"],
        operation::CORDON => &["member", operation::TEMPORARY],
        operation::DRAIN => &["member", "timeout_ms", "ignore_budgets", "on_blocked"],
        operation::REMOVE => &["member", "retire"],
        operation::VERIFY if step.roll.is_some() => &[operation::NODE, "slot", "timeout_ms", "settle_ms"],
        // Providers give the arguments of their other operations.
        _ => return None,
    };
    let unknown = given.keys().find(|argument| !known.contains(&argument.as_str()))?;
    Some(format!("{} has the argument {unknown}, which no plan gives to it", step.title()))
}

/// The first total that is not that of the steps, or of what the plan leaves out, as a sentence.
fn totals(plan: &Plan) -> Option<String> {
    let other = |name: &str| Some(format!("{name} is not what follows from the rest of the plan file"));
    let classes: BTreeSet<&str> = plan.steps.iter().map(|step| step.rate_class.as_str()).collect();
    if classes.len() > MOST_CLASSES {
        return Some(format!("its steps have {} rate classes", classes.len()));
    }
    if plan.estimate_ms != estimate_ms(&plan.steps, &plan.rate_classes) {
        return other("estimate_ms");
    }
    if plan.critical_path_ms != ReadyQueue::new(&plan.steps, &plan.rate_classes).critical_path_ms() {
        return other("critical_path_ms");
    }
    // Plans of former versions do not name what they leave out.
    let is_named = plan.pending.is_empty() || plan.left_out == plan.pending.len() as u64;
    if is_named { None } else { other("left_out") }
}

/// An object that is changed was read before, and its provider is one that the plan names.
fn source(change: &ResourceChange, plan: &Plan) -> Option<String> {
    let address = &change.address;
    let changes_object = change.action == ChangeAction::Update || change.action.is_replace();
    if changes_object && change.before.is_null() {
        return Some(format!("before of {address} is not what follows from the rest of the plan file"));
    }
    let is_called = changes_object || matches!(change.action, ChangeAction::Create | ChangeAction::Delete);
    (is_called && !plan.binding.providers.contains_key(&change.provider))
        .then(|| format!("{address} is of the provider {}, which the plan does not name", change.provider))
}

/// A machine that is shown with another name than that of its node, or a step of a roll on request that does not say that it is one.
fn machines(change: &ResourceChange, plan: &Plan) -> Option<String> {
    let is_other = |machine: &&MachineChange| {
        machine.node.as_ref().is_some_and(|node| node.address.name() != machine.name)
    };
    if let Some(machine) = change.machines.iter().find(is_other) {
        let (identity, address) = (&machine.identity, &change.address);
        return Some(format!("name of the machine {identity} of {address} is not that of its node"));
    }
    let step = requested::unrecorded(plan, change)?;
    Some(format!("anew of {} is not what follows from the rest of the plan file", step.title()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use slipway_resource::Address;

    use super::*;
    use crate::examples;
    use crate::step::StepId;
    use crate::step_graph::usual_timeout_ms;

    fn step(id: u32, depends_on: &[u32]) -> Step {
        Step {
            id: StepId(id),
            address: Address::new("any_thing", "a"),
            action: StepAction::Operation { name: "look".to_owned(), arguments: Value::Integer(id.into()) },
            identity: None,
            roll: None,
            depends_on: depends_on.iter().copied().map(StepId).collect(),
            rate_class: String::new(),
            estimate_ms: 5,
            timeout_ms: usual_timeout_ms(5),
        }
    }

    fn update(before: Value) -> ResourceChange {
        let address = Address::new("any_thing", "a");
        ResourceChange { action: ChangeAction::Update, before, ..ResourceChange::bare(&address, "any", 1) }
    }

    #[test]
    fn an_edited_part_does_not_follow_from_the_others() {
        let plan = Plan {
            steps: vec![step(0, &[]), step(1, &[0])],
            estimate_ms: 10,
            critical_path_ms: 10,
            ..examples::plan()
        };
        assert_eq!(fault(&plan), None);
        type Edit = fn(&mut Plan);
        let edits: &[(&str, Edit)] = &[
            ("its spec does not have the digest", |plan| plan.spec = serde_json::json!({ "name": "demo" })),
            ("depends_on of look any_thing.a is not sorted", |plan| {
                plan.steps[1].depends_on.push(StepId(0));
            }),
            ("has the argument zzz, which no plan gives to it", |plan| {
                let arguments = Value::map([("slot", "1"), ("zzz", "2")]);
                plan.steps[1].action = StepAction::Operation { name: "surge".to_owned(), arguments };
            }),
            ("estimate_ms is not", |plan| plan.estimate_ms = 1),
            ("estimate_ms is not", |plan| plan.steps[0].estimate_ms = 6),
            ("critical_path_ms is not", |plan| plan.critical_path_ms = 1),
            ("timeout_ms of look any_thing.a", |plan| plan.steps[0].timeout_ms = 1),
            ("before of any_thing.a", |plan| plan.changes.push(update(Value::Null))),
            ("any_thing.a is of the provider any, which the plan does not name", |plan| {
                plan.changes.push(update(Value::Bool(true)));
            }),
            ("depends_on of any_thing.a closes a circle", |plan| {
                let own = Address::new("any_thing", "a");
                plan.dependencies = BTreeMap::from([(own.clone(), vec![own])]);
            }),
        ];
        for (wanted, edit) in edits {
            let mut edited = plan.clone();
            edit(&mut edited);
            let found = fault(&edited);
            assert!(found.as_ref().is_some_and(|found| found.contains(wanted)), "{wanted}: {found:?}");
        }
    }
}
