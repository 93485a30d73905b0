//! Derives the changes of a saved plan again, and compares them with those that the plan file shows.
//!
//! People and policies approve differences, marks and reasons, but the engine sends the desired attributes. The providers plan
//! purely: from the desired, the observed and the last applied attributes they give the same answer each time. A plan file in
//! which one of these parts was edited therefore differs from what its provider answers now.

pub(crate) mod alone;
mod binding;
mod dependencies;
pub(crate) mod manner;
pub(crate) mod order;
mod unmarked;

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::diff::{self, Change};
use slipway_resource::provider::{Disruption, PlanItem, Planned, RateClass, Rollout, operation};
use slipway_resource::{Address, Path, ResourceType, Value};

use crate::change::{ChangeAction, RecordTemplate, ResourceChange};
use crate::decide::{attributes_after, attributes_of_new, lifecycle_texts, sensitive_paths};
use crate::error::Error;
use crate::file::{Mode, Plan};
use crate::precondition::Precondition;
use crate::providers::{ProviderHandle, Providers, ask};
use crate::resolve::restore_references;
use crate::soundness::rolls;
use crate::state::{Record, Snapshot};
use crate::step::StepAction;

/// Refuses a plan that shows something else than its types and providers derive from what it carries out.
///
/// # Errors
/// [`Error::Unsound`] with the address and the field, and when a provider cannot plan.
pub(crate) async fn check(plan: &Plan, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
    let subjects: Vec<ReadChange<'_>> =
        plan.changes.iter().filter_map(|change| ReadChange::of(change, plan, providers, prior)).collect();
    let fault = alone::fault(plan)
        .or_else(|| binding::fault(plan, providers))
        .or_else(|| by_types(plan, providers))
        .or_else(|| classes(plan, providers))
        .or_else(|| subjects.iter().find_map(ReadChange::by_type))
        .or_else(|| dependencies::fault(plan, prior));
    let unsound = |fault: Option<String>| match fault {
        Some(fault) => Err(Error::Unsound { fault }),
        None => Ok(()),
    };
    unsound(fault)?;
    if plan.mode != Mode::Apply {
        // The name of the cluster confirms every loss of a deletion, and a report of drift carries out nothing.
        return Ok(());
    }
    // The plan of a deletion says which machines leave, from what was observed.
    let unread =
        subjects.iter().find(|subject| subject.removes_machines() && subject.change.before.is_null());
    unsound(unread.map(|subject| subject.other("before")))?;
    let emptied = unmarked::emptied(&subjects);
    unsound(subjects.iter().find_map(|subject| unmarked::fault(subject, prior, &emptied)))?;
    let asked: Vec<&ReadChange<'_>> = subjects.iter().filter(|subject| subject.is_asked()).collect();
    let planned = ask(providers, asked.iter().map(|subject| subject.item()).collect()).await?;
    let rolls = rolls::of(&plan.changes, &plan.steps);
    let rolled = asked.iter().zip(&planned);
    let rollouts: BTreeMap<&Address, &Rollout> = rolled
        .filter_map(|(subject, planned)| Some((&subject.change.address, planned.rollout.as_ref()?)))
        .collect();
    for (subject, planned) in asked.into_iter().zip(&planned) {
        let roll = rolls.get(&subject.change.address);
        let fault = subject
            .by_provider(planned, plan)
            .or_else(|| manner::fault(&plan.steps, subject.change, planned.rollout.as_ref(), roll));
        unsound(fault)?;
    }
    unsound(order::fault(&rolls, &rollouts))
}

/// The first change that names another provider than its type has, or the first gate that its type does not have, as a sentence.
fn by_types(plan: &Plan, providers: &Providers) -> Option<String> {
    let provided = |address: &Address| providers.of_type(address.kind());
    let is_other = |change: &&ResourceChange| {
        provided(&change.address).is_some_and(|(name, _, _)| name != change.provider)
    };
    if let Some(change) = plan.changes.iter().find(is_other) {
        return Some(format!("provider of {} is not the one of its type", change.address));
    }
    plan.steps.iter().find_map(|step| {
        let StepAction::Operation { name, arguments } = &step.action else { return None };
        let (_, _, kind) = provided(&step.address)?;
        if !kind.operations.contains_key(name) {
            return Some(format!("{}, and {} has no operation {name}", step.title(), step.address.kind()));
        }
        // By this mark, a later plan removes the cordon of a run that was interrupted.
        let is_marked = arguments.get(operation::TEMPORARY) == Some(&Value::Bool(true));
        let marks = step.roll.is_some() && name == operation::CORDON;
        (marks && !is_marked && kind.operations.contains_key(operation::UNCORDON))
            .then(|| format!("{} is not {}", step.title(), operation::TEMPORARY))
    })
}

/// The first step or rate class that has another pace than its type and its provider say, as a sentence.
fn classes(plan: &Plan, providers: &Providers) -> Option<String> {
    let is_same = |name: &str, handle: &ProviderHandle| {
        let pin = plan.binding.providers.get(name);
        pin.is_some_and(|pin| {
            pin.version == handle.pin.version && pin.schema_digest == handle.pin.schema_digest
        })
    };
    let other = plan.steps.iter().find(|step| {
        let Some((name, handle, kind)) = providers.of_type(step.address.kind()) else { return false };
        // The planner may not know the class of the nodes of a pool.
        let is_unnamed = step.roll.is_some() && step.rate_class.is_empty();
        is_same(name, handle) && step.rate_class != kind.rate_class && !is_unnamed
    });
    if let Some(step) = other {
        return Some(format!("rate_class of {} is not that of its type", step.title()));
    }
    let known = providers.iter().filter(|(name, handle)| is_same(name, handle));
    let declared: BTreeMap<&String, &RateClass> =
        known.flat_map(|(_, handle)| &handle.info.rate_classes).collect();
    let other = plan.steps.iter().map(|step| &step.rate_class).find(|class| {
        declared.get(class).is_some_and(|limits| plan.rate_classes.get(*class) != Some(*limits))
    })?;
    Some(format!("the rate class {other} does not have the limits of its provider"))
}

/// A change of a plan, with the facts about its resource that are not from the plan file.
#[derive(Clone, Copy)]
struct ReadChange<'a> {
    change: &'a ResourceChange,
    kind: &'a ResourceType,
    /// What the state has of it.
    record: Option<&'a Record>,
    /// Whether its provider answers dry runs of changes: then the plan file does not have what the provider planned from.
    has_dry_run: bool,
}

/// The parts of a change that follow from the others.
struct Derived {
    after: Value,
    changes: Vec<Change>,
    precondition: Precondition,
}

impl<'a> ReadChange<'a> {
    /// The subject of a change; `None` where its type is not known here, or its provider is another one than the plan was made with.
    /// A run refuses the latter.
    fn of(
        change: &'a ResourceChange,
        plan: &Plan,
        providers: &'a Providers,
        prior: Option<&'a Snapshot>,
    ) -> Option<Self> {
        let (name, handle, kind) = providers.of_type(change.address.kind())?;
        let is_same = plan.binding.providers.get(name).is_none_or(|pin| {
            pin.version == handle.pin.version && pin.schema_digest == handle.pin.schema_digest
        });
        // For the planner, an existing object that the cluster does not use any more has no record.
        let is_own = |record: &&Record| {
            let is_same = change.identity.as_ref() == Some(&record.identity);
            !record.existing || change.record.existing || is_same
        };
        let record = |address: &Address| prior?.resources.get(address).filter(is_own);
        is_same.then(|| Self {
            change,
            kind,
            record: record(&change.address).or_else(|| record(change.previous_address.as_ref()?)),
            has_dry_run: handle.info.capabilities.dry_run,
        })
    }

    fn last_applied(&self) -> Option<&'a Value> {
        self.record?.applied.as_ref()
    }

    fn changes_object(&self) -> bool {
        self.change.action == ChangeAction::Update || self.change.action.is_replace()
    }

    /// The fault of a field, as a sentence.
    fn other(&self, field: &str) -> String {
        format!("{field} of {} is not what follows from the rest of the plan file", self.change.address)
    }

    /// The first field that the type alone shows to be another one.
    fn by_type(&self) -> Option<String> {
        let Self { change, kind, .. } = *self;
        if self.changes_object() && change.before.is_null() {
            return Some(self.other("before"));
        }
        // Nothing was decided about a deferred resource, and no step belongs to it.
        let is_deferred = change.action == ChangeAction::Deferred;
        if is_deferred || change.before.is_null() && change.after.is_null() {
            return None;
        }
        if change.schema_version != kind.version {
            return Some(self.other("schema_version"));
        }
        if change.sensitive != sensitive_paths(&kind.attributes) {
            return Some(self.other("sensitive"));
        }
        if let Some(fault) = self.other_lifecycle() {
            return Some(fault);
        }
        if change.action == ChangeAction::Delete {
            let applied: Vec<&Value> = self.last_applied().into_iter().collect();
            let precondition = Precondition::unchanged(kind, &change.before, &applied);
            return (change.precondition != precondition).then(|| self.other("precondition"));
        }
        // What its provider planned from is not in the plan, but the differences are those of the attributes.
        let is_compared = self.has_dry_run && self.changes_object();
        let derived = is_compared.then(|| self.differences(&change.after, &[]).1)?;
        let is_known = |change: &&Change| change.after != Value::Unknown;
        let shown: Vec<&Change> = change.changes.iter().filter(is_known).collect();
        let derived: Vec<&Change> = derived.iter().filter(is_known).collect();
        other_difference(&shown, &derived, false).map(|path| self.other(&format!("the difference {path}")))
    }

    /// A change of what the state keeps about the resource, such as its protection, that the first reasons do not name.
    fn other_lifecycle(&self) -> Option<String> {
        let change = self.change;
        let is_told =
            matches!(change.action, ChangeAction::NoOp | ChangeAction::Update | ChangeAction::Record);
        let record = self.record.filter(|_| is_told)?;
        let RecordTemplate { retain, protected, existing, .. } = change.record;
        let texts = lifecycle_texts(record, (retain, protected, existing));
        let first = || change.reasons.iter().take(texts.len());
        let is_said = |text: &str| first().any(|reason| reason.message == text);
        (!texts.iter().all(|text| is_said(text))).then(|| self.other("reasons"))
    }

    /// Whether it is a pool that is deleted.
    fn removes_machines(&self) -> bool {
        self.change.action == ChangeAction::Delete && self.kind.operations.contains_key(operation::REMOVE)
    }

    /// Whether its provider can plan it again.
    fn is_asked(&self) -> bool {
        let change = self.change;
        !self.has_dry_run
            && match change.action {
                ChangeAction::Create => true,
                ChangeAction::Forget | ChangeAction::Deferred => false,
                // The plan of a deletion says which machines leave, and nothing else.
                ChangeAction::Delete => self.removes_machines() && !change.before.is_null(),
                _ => !change.before.is_null(),
            }
    }

    /// The question that the planner asked.
    fn item(&self) -> PlanItem {
        let change = self.change;
        PlanItem {
            address: change.address.clone(),
            desired: (change.action != ChangeAction::Delete).then(|| change.record.applied.clone()),
            observed: (!change.before.is_null()).then(|| change.before.clone()),
            last_applied: self.last_applied().cloned(),
        }
    }

    /// The differences between the observed and the desired attributes: those that are left alone, and the others.
    fn differences(&self, desired: &Value, replace_paths: &[Path]) -> (Vec<Change>, Vec<Change>) {
        let change = self.change;
        let all = diff::diff(self.kind, &change.before, desired, self.last_applied());
        let (ignored, mut changes): (Vec<Change>, Vec<Change>) =
            all.into_iter().partition(|found| change.ignored.iter().any(|path| found.path.starts_with(path)));
        for found in &mut changes {
            found.replaces |= replace_paths.iter().any(|path| found.path.starts_with(path));
        }
        (ignored, changes)
    }

    fn derive(&self, planned: &Planned) -> Derived {
        let Self { change, kind, .. } = *self;
        let mut normalised = planned.normalised.clone();
        if change.record.applied.has_reference() {
            restore_references(&mut normalised, &change.record.applied);
        }
        if change.action == ChangeAction::Create {
            let mut after = attributes_of_new(normalised, kind);
            // A provider knows less offline: a value that nobody asks for may be unknown in the plan, and is shown so.
            for (name, value) in change.after.as_map().into_iter().flatten() {
                let is_asked_for = change.record.applied.get(name).is_some_and(|asked| !asked.is_null());
                if *value == Value::Unknown && !is_asked_for {
                    after.set(&Path::key(name.as_str()), Value::Unknown);
                }
            }
            return Derived { after, changes: Vec::new(), precondition: Precondition::AbsentOrOurs };
        }
        let (ignored, changes) = self.differences(&normalised, &planned.replace_paths);
        let managed: Vec<&Value> = [&normalised].into_iter().chain(self.last_applied()).collect();
        let precondition = Precondition::unchanged(kind, &change.before, &managed);
        let after = attributes_after(
            normalised,
            (kind, &change.before),
            change.action.is_replace(),
            (&ignored, &planned.unknown_after),
        );
        Derived { after, changes, precondition }
    }

    /// The first field that differs from what its provider answers.
    fn by_provider(&self, planned: &Planned, plan: &Plan) -> Option<String> {
        let change = self.change;
        if change.disruption < least_disruption(change, planned) {
            return Some(self.other("disruption"));
        }
        // Nothing of an existing object, which the cluster only uses, is compared or changed.
        if change.action == ChangeAction::Delete || change.record.existing {
            return None;
        }
        let derived = self.derive(planned);
        if let Some(path) = differing(&change.after, &derived.after, &Path::root()) {
            return Some(self.other(&format!("the desired value {path}")));
        }
        let (shown, found): (Vec<&Change>, Vec<&Change>) =
            (change.changes.iter().collect(), derived.changes.iter().collect());
        if let Some(path) = other_difference(&shown, &found, true) {
            return Some(self.other(&format!("the difference {path}")));
        }
        let replaces = derived.changes.iter().any(|found| found.replaces);
        if replaces && !change.action.is_replace() || !derived.changes.is_empty() && !self.changes_object() {
            return Some(self.other("action"));
        }
        if change.precondition != derived.precondition {
            return Some(self.other("precondition"));
        }
        let is_said = |text: &String| change.reasons.iter().any(|reason| reason.message == *text);
        if !planned.reasons.iter().all(is_said) {
            return Some(self.other("reasons"));
        }
        if planned.infrastructure_only.iter().any(|text| !plan.infrastructure_only.contains(text)) {
            return Some(format!("{}: infrastructure_only does not have what it leaves out", change.address));
        }
        let prepares = self.changes_object() && self.kind.operations.contains_key(operation::PREPARE);
        let arguments = planned.prepare.as_ref().filter(|_| prepares)?;
        let is_prepared = plan.steps.iter().any(|step| {
            step.address == change.address && is_gate(&step.action, operation::PREPARE, arguments)
        });
        (!is_prepared).then(|| format!("no step prepares the change of {}", change.address))
    }
}

/// The least effect on users of the cluster that a change has.
fn least_disruption(change: &ResourceChange, planned: &Planned) -> Disruption {
    let leaves = planned.rollout.as_ref().is_some_and(Rollout::has_leaving);
    let has_machines = planned.rollout.as_ref().is_some_and(|rollout| !rollout.members.is_empty());
    match change.action {
        ChangeAction::Create => Disruption::None,
        ChangeAction::Delete if leaves => Disruption::Rolling,
        ChangeAction::Delete => Disruption::None,
        action if action.is_replace() && has_machines => Disruption::Outage,
        _ => planned.disruption,
    }
}

/// Whether a step is this gate with these arguments.
fn is_gate(action: &StepAction, name: &str, arguments: &Value) -> bool {
    match action {
        StepAction::Operation { name: own, arguments: given } => {
            own == name && differing(given, arguments, &Path::root()).is_none()
        }
        _ => false,
    }
}

/// The path of the first difference that is only in one of two lists, or differs in them. Without `marks`, it does not matter which
/// differences need a new object.
fn other_difference(shown: &[&Change], derived: &[&Change], marks: bool) -> Option<Path> {
    let is_same = |(one, other): (&&Change, &&Change)| {
        one.path == other.path
            && is_same_before(&one.before, &other.before)
            && differing(&one.after, &other.after, &Path::root()).is_none()
            && (!marks || one.replaces == other.replaces)
            && one.sensitive == other.sensitive
    };
    let same = shown.iter().zip(derived).take_while(|pair| is_same(*pair)).count();
    let first = shown.get(same).or_else(|| derived.get(same))?;
    Some(first.path.clone())
}

/// Whether two observed values are the same. The state may have lost the key of the fingerprints of its secrets since.
fn is_same_before(one: &Value, other: &Value) -> bool {
    matches!((one, other), (Value::Secret(_), Value::Secret(_)))
        || differing(one, other, &Path::root()).is_none()
}

/// The path of the first place where two values differ. A key with null is the same as a missing one.
fn differing(one: &Value, other: &Value, path: &Path) -> Option<Path> {
    match (one, other) {
        (Value::Map(left), Value::Map(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            keys.into_iter().find_map(|key| {
                let (left, right) = (left.get(key), right.get(key));
                let nothing = &Value::Null;
                differing(left.unwrap_or(nothing), right.unwrap_or(nothing), &path.child(key.as_str()))
            })
        }
        (Value::List(left), Value::List(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(index, (left, right))| differing(left, right, &path.index(index))),
        _ => (one != other).then(|| path.clone()),
    }
}

#[cfg(test)]
mod tests;
