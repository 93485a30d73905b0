//! What a plan file has the state record about dependencies. The order of later deletions follows from it.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::Address;

use crate::change::{ChangeAction, ResourceChange};
use crate::file::{Mode, Plan};
use crate::graph;
use crate::state::Snapshot;

/// The dependencies of each resource.
type Dependencies = BTreeMap<Address, Vec<Address>>;

/// The first record that does not depend on a resource to which it refers, or dependencies of a resource that the state does not have,
/// as a sentence.
pub(super) fn fault(plan: &Plan, prior: Option<&Snapshot>) -> Option<String> {
    let is_recorded = |address: &&Address| prior.is_some_and(|prior| prior.resources.contains_key(*address));
    if let Some(address) = plan.dependencies.keys().find(|address| !is_recorded(address)) {
        return Some(no_such_record(address));
    }
    if plan.mode != Mode::Apply {
        return None;
    }
    let recorded = recorded(plan, prior, &anew(plan));
    let makes = |change: &&ResourceChange| {
        matches!(change.action, ChangeAction::Create | ChangeAction::Update) || change.action.is_replace()
    };
    plan.changes.iter().filter(makes).find_map(|change| {
        let needed = unnamed(change, &recorded)?;
        Some(format!("depends_on of {} does not have {needed}, to which it refers", change.address))
    })
}

/// Dependencies of a resource that changes, or a circle of dependencies that the plan has the state record, as a sentence. [`fault`]
/// has those for which the state is needed.
///
/// Records that the plan leaves as they are may be of another spec, so that a circle through one of them is no fault: deletions are
/// ordered nevertheless ([`circles`](crate::circles)).
pub(super) fn of_file(plan: &Plan) -> Option<String> {
    let changes = plan.changes.iter().chain(&plan.kept).filter(|change| !change.is_idle());
    let changed: BTreeSet<&Address> = changes.map(|change| &change.address).collect();
    let keeps_record = |address: &&Address| plan.mode == Mode::Apply && !changed.contains(*address);
    if let Some(address) = plan.dependencies.keys().find(|address| !keeps_record(address)) {
        return Some(no_such_record(address));
    }
    if plan.mode != Mode::Apply {
        return None;
    }
    let circle = graph::circle(&anew(plan))?;
    let addresses: Vec<String> = circle.iter().map(Address::to_string).collect();
    let first = circle.first()?;
    Some(format!("depends_on of {first} closes a circle: {}", addresses.join(" → ")))
}

fn no_such_record(address: &Address) -> String {
    format!("dependencies of {address} are not those of a record that stays as it is")
}

/// The dependencies that the plan has the state record: those of resources that change, and of others whose dependencies alone are
/// other ones.
fn anew(plan: &Plan) -> Dependencies {
    let is_written = |change: &&ResourceChange| {
        let is_left =
            matches!(change.action, ChangeAction::Delete | ChangeAction::Forget | ChangeAction::Deferred);
        !is_left && !change.is_idle()
    };
    let written = plan.changes.iter().filter(is_written);
    let written = written.map(|change| (change.address.clone(), change.record.depends_on.clone()));
    plan.dependencies.clone().into_iter().chain(written).collect()
}

/// The dependencies that the state has after the plan.
fn recorded(plan: &Plan, prior: Option<&Snapshot>, anew: &Dependencies) -> Dependencies {
    let records = prior.into_iter().flat_map(|prior| &prior.resources);
    let mut recorded: Dependencies =
        records.map(|(address, record)| (address.clone(), record.depends_on.clone())).collect();
    for change in &plan.changes {
        if let Some(previous) = &change.previous_address {
            recorded.remove(previous);
        }
        if matches!(change.action, ChangeAction::Delete | ChangeAction::Forget) {
            recorded.remove(&change.address);
        }
    }
    recorded.extend(anew.clone());
    recorded
}

/// The first resource to which a change refers and on which it does not depend, not even through others: the value to which it
/// refers may refer to another resource itself.
fn unnamed(change: &ResourceChange, recorded: &Dependencies) -> Option<Address> {
    let mut referred: BTreeSet<Address> = BTreeSet::new();
    change.record.applied.for_each_reference(&mut |reference| {
        referred.insert(reference.address.clone());
    });
    let own = &change.record.depends_on;
    referred.into_iter().find(|needed| !own.contains(needed) && !reaches(own, needed, recorded))
}

/// Whether one of these resources depends on another one, directly or through others.
fn reaches(from: &[Address], to: &Address, recorded: &Dependencies) -> bool {
    let mut seen: BTreeSet<&Address> = BTreeSet::new();
    let mut stack: Vec<&Address> = from.iter().collect();
    while let Some(next) = stack.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            stack.extend(recorded.get(next).into_iter().flatten());
        }
    }
    false
}
