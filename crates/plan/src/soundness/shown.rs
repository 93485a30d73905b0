//! Checks that a change shows the values that its steps send, and that steps have the limits and marks that the changes show.
//!
//! These are the checks for which a plan file alone is enough. [`crate::derived`] has those for which the types and the providers
//! are needed.

use std::collections::BTreeMap;

use slipway_resource::diff::Change;
use slipway_resource::provider::operation;
use slipway_resource::{Address, Identity, Value};

use crate::change::{ChangeAction, ResourceChange};
use crate::file::Plan;
use crate::step::{Step, StepAction};

/// The first place where the plan shows something else than its steps do, as a sentence.
pub(super) fn fault(plan: &Plan, changes: &BTreeMap<&Address, &ResourceChange>) -> Option<String> {
    let values = plan.changes.iter().find_map(|change| action(change).or_else(|| values(change)));
    values.or_else(|| plan.steps.iter().find_map(|step| limits(step).or_else(|| retires(step, changes))))
}

/// Only an object that changes has differences. An existing object, which the cluster only uses, never changes.
fn action(change: &ResourceChange) -> Option<String> {
    let address = &change.address;
    let changes = change.action == ChangeAction::Update || change.action.is_replace();
    if change.record.existing
        && (changes || matches!(change.action, ChangeAction::Create | ChangeAction::Delete))
    {
        return Some(format!(
            "{address} is an existing object that the cluster only uses, and the plan changes it"
        ));
    }
    let path = &change.changes.first().filter(|_| !changes)?.path;
    Some(format!("{address} shows a difference in {path}, and no step changes the object"))
}

/// The differences that a change shows are those of the values that its step sends.
fn values(change: &ResourceChange) -> Option<String> {
    let address = &change.address;
    change.changes.iter().find_map(|difference| {
        let path = &difference.path;
        if difference.replaces && change.action == ChangeAction::Update {
            return Some(format!(
                "{address} needs a new object because of {path}, and the plan only updates it"
            ));
        }
        (!sends(&change.after, difference))
            .then(|| format!("{address} shows another value of {path} than its step sends"))
    })
}

/// Whether the desired attributes have the value of a difference. What is not among them has its default, which the type tells. Of an
/// attribute that the server sets again, only the observed value is known.
fn sends(after: &Value, difference: &Change) -> bool {
    let sent = after.at(&difference.path).unwrap_or(&Value::Null);
    sent.is_null() || *sent == difference.after || difference.after == Value::Unknown
}

/// A step has time, and a drain the time that it tells its provider.
fn limits(step: &Step) -> Option<String> {
    if step.timeout_ms == 0 {
        return Some(format!("{} has no time (timeout_ms is 0)", step.title()));
    }
    let StepAction::Operation { name, arguments } = &step.action else { return None };
    let limit = arguments.get("timeout_ms").and_then(Value::as_integer);
    let is_same = limit.and_then(|limit| u64::try_from(limit).ok()) == Some(step.timeout_ms);
    (name == operation::DRAIN && !is_same).then(|| {
        let stated = limit.unwrap_or_default();
        format!("{} has {} ms, and its argument timeout_ms is {stated}", step.title(), step.timeout_ms)
    })
}

/// A machine that is not replaced is retired, so that nothing takes its place.
fn retires(step: &Step, changes: &BTreeMap<&Address, &ResourceChange>) -> Option<String> {
    let StepAction::Operation { name, arguments } = &step.action else { return None };
    if name != operation::REMOVE {
        return None;
    }
    let member = Identity::new(arguments.get("member")?.as_str()?);
    let machines = &changes.get(&step.address)?.machines;
    let machine = machines.iter().find(|machine| machine.identity == member)?;
    let retires = arguments.get("retire").and_then(Value::as_bool).unwrap_or(false);
    match (machine.replaced, retires) {
        (true, true) => Some(format!("{} retires a machine that the plan shows as replaced", step.title())),
        (false, false) => {
            Some(format!("{} does not retire a machine that the plan does not replace", step.title()))
        }
        _ => None,
    }
}
