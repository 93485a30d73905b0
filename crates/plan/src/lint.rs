//! Checks a whole plan against the rules that hold for every plan, whatever tool wrote it.
//!
//! A plan that breaks one of them is a defect of the planner or of a provider's declarations, and could not be carried
//! out as it is shown.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use slipway_resource::{Address, Identity, ResourceType, Value};

use crate::change::{ChangeAction, ResourceChange};
use crate::exclusives::{Key, key};
use crate::file::Plan;
use crate::holds::{mentions, moves};
use crate::soundness;
use crate::step::{Step, StepAction, StepId};

/// The faults of a plan: sentences, each about one step or change; none for a valid plan.
///
/// - Steps are numbered in an order in which they can be carried out.
/// - Every change that does something has its steps, and every step of a resource its change.
/// - A resource is created or changed after the resources that it refers to.
/// - An object that another object holds is deleted only after that one is deleted or has released it.
/// - Where only one object may have certain attributes, the old object is deleted before the new one is
///   created.
#[must_use]
pub fn lint<'a>(plan: &Plan, type_of: &dyn Fn(&str) -> Option<&'a ResourceType>) -> Vec<String> {
    let mut found = numbering(&plan.steps);
    if !found.is_empty() || plan.steps.is_empty() {
        return found;
    }
    let index = Index::new(plan);
    found.extend(index.completeness());
    found.extend(index.references());
    found.extend(index.holders(type_of));
    found.extend(index.exclusives(type_of));
    found
}

fn numbering(steps: &[Step]) -> Vec<String> {
    let fault = |(position, step)| soundness::order(position, step, steps.len());
    steps.iter().enumerate().filter_map(fault).collect()
}

/// The steps of a plan by their subjects.
struct Index<'p> {
    plan: &'p Plan,
    changes: BTreeMap<&'p Address, &'p ResourceChange>,
    steps: BTreeMap<&'p Address, Vec<&'p Step>>,
}

impl<'p> Index<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut steps: BTreeMap<&Address, Vec<&Step>> = BTreeMap::new();
        for step in &plan.steps {
            steps.entry(&step.address).or_default().push(step);
        }
        let changes = plan.changes.iter().chain(&plan.kept).map(|change| (&change.address, change)).collect();
        Self { plan, changes, steps }
    }

    /// The step after which a resource exists as desired.
    fn arrival(&self, address: &Address) -> Option<&'p Step> {
        let arrives = |step: &&&Step| {
            matches!(step.action, StepAction::Create | StepAction::Update | StepAction::Record)
        };
        self.steps.get(address)?.iter().find(arrives).copied()
    }

    /// The step that deletes an object.
    fn removal(&self, address: &Address, identity: Option<&Identity>) -> Option<&'p Step> {
        let removes = |step: &&&Step| {
            matches!(step.action, StepAction::Delete { .. } | StepAction::RemovedWithParent { .. })
                && (step.identity.is_none() || step.identity.as_ref() == identity)
        };
        self.steps.get(address)?.iter().find(removes).copied()
    }

    /// Whether a step waits for another, directly or through others.
    fn comes_after(&self, later: &Step, earlier: StepId) -> bool {
        if later.depends_on.contains(&earlier) {
            return true;
        }
        let mut seen: HashSet<StepId> = HashSet::new();
        let mut stack: Vec<StepId> = later.depends_on.clone();
        while let Some(id) = stack.pop() {
            if id == earlier {
                return true;
            }
            // A step has a greater number than all steps that it waits for.
            if id.index() > earlier.index()
                && seen.insert(id)
                && let Some(step) = self.plan.steps.get(id.index())
            {
                stack.extend(step.depends_on.iter().copied());
            }
        }
        false
    }

    fn completeness(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (address, change) in &self.changes {
            let of: Vec<&StepAction> =
                self.steps.get(address).into_iter().flatten().map(|step| &step.action).collect();
            let creates = of.iter().filter(|action| matches!(action, StepAction::Create)).count();
            let (wanted, missing) = match change.action {
                ChangeAction::Create
                | ChangeAction::ReplaceCreateFirst
                | ChangeAction::ReplaceDeleteFirst => (1, "created"),
                ChangeAction::Update => (0, "updated"),
                ChangeAction::Delete => (0, "deleted"),
                _ => (0, ""),
            };
            let has = |wanted: fn(&StepAction) -> bool| of.iter().any(|action| wanted(action));
            let complete = match missing {
                "updated" => has(|action| matches!(action, StepAction::Update)),
                "deleted" => has(|action| {
                    matches!(action, StepAction::Delete { .. } | StepAction::RemovedWithParent { .. })
                }),
                _ => true,
            };
            if creates != wanted {
                found.push(format!("{address} is created by {creates} steps instead of {wanted}"));
            }
            if !complete {
                found.push(format!("{address} is to be {missing}, and no step does it"));
            }
        }
        let changes_something = |step: &&Step| !matches!(step.action, StepAction::Operation { .. });
        for step in self.plan.steps.iter().filter(changes_something) {
            if !self.changes.contains_key(&step.address) {
                found.push(format!("{} belongs to no change of the plan", step.title()));
            }
        }
        found
    }

    fn references(&self) -> Vec<String> {
        let mut found = Vec::new();
        for change in self.changes.values() {
            let makes = |step: &&Step| matches!(step.action, StepAction::Create | StepAction::Update);
            let Some(own) = self.arrival(&change.address).filter(makes) else { continue };
            let mut needed: BTreeSet<&Address> = BTreeSet::new();
            each_reference(&change.after, &mut needed);
            for needed in needed {
                if let Some(other) = self.arrival(needed)
                    && other.id != own.id
                    && !self.comes_after(own, other.id)
                {
                    found.push(format!("{} does not wait for {}", own.title(), other.title()));
                }
            }
        }
        found
    }

    fn holders<'a>(&self, type_of: &dyn Fn(&str) -> Option<&'a ResourceType>) -> Vec<String> {
        let mut going: BTreeMap<&str, (&Address, &Step)> = BTreeMap::new();
        for change in self.changes.values() {
            if let Some(identity) = &change.identity
                && let Some(removal) = self.removal(&change.address, Some(identity))
                && matches!(removal.action, StepAction::Delete { .. })
            {
                going.insert(identity.as_str(), (&change.address, removal));
            }
        }
        let mut found = Vec::new();
        for change in self.changes.values() {
            let Some(kind) = type_of(change.address.kind()) else { continue };
            for (name, _) in kind.attributes.iter().filter(|(_, attribute)| attribute.holds) {
                let Some(before) = change.before.get(name) else { continue };
                let mut named = BTreeSet::new();
                texts(before, &mut named);
                for (held, removal) in named.iter().filter_map(|text| going.get(text)) {
                    if **held == change.address {
                        continue;
                    }
                    let own = self.removal(&change.address, change.identity.as_ref());
                    let keeps = change.after.get(name).is_some_and(|after| {
                        named.iter().any(|text| {
                            going.get(text).is_some_and(|(other, _)| other == held) && mentions(after, text)
                        })
                    });
                    let lets_go = match own {
                        Some(own) => Some(own),
                        None if keeps => None,
                        None => self.arrival(&change.address),
                    };
                    let in_order = lets_go.is_some_and(|own| match &own.action {
                        // It is deleted together with the object that it holds, or with the parent of that
                        // object.
                        StepAction::RemovedWithParent { parent } => {
                            parent == *held
                                || self.comes_after(removal, own.id)
                                || self.removal(parent, None).is_none_or(|with| {
                                    with.id == removal.id || self.comes_after(removal, with.id)
                                })
                                || kind.removed_with.as_ref().is_some_and(|with| with.lets_go)
                        }
                        _ => self.comes_after(removal, own.id),
                    });
                    if !in_order {
                        found.push(format!(
                            "{} comes while {} still refers to it in {name}",
                            removal.title(),
                            change.address
                        ));
                    }
                }
            }
        }
        found
    }

    fn exclusives<'a>(&self, type_of: &dyn Fn(&str) -> Option<&'a ResourceType>) -> Vec<String> {
        let mut going: BTreeMap<Key<'_>, &Step> = BTreeMap::new();
        for change in self.changes.values() {
            if let Some(kind) = type_of(change.address.kind())
                && let Some(removal) = self.removal(&change.address, change.identity.as_ref())
                && let Some(key) = key(kind, change.address.kind(), &change.before)
            {
                going.insert(key, removal);
            }
        }
        let mut found = Vec::new();
        for change in self.changes.values() {
            if let Some(kind) = type_of(change.address.kind())
                && let Some(arrival) = self.arrival(&change.address)
                && arrival.action == StepAction::Create
                && !moves(kind, &change.after)
                && let Some(key) = key(kind, change.address.kind(), &change.after)
                && let Some(removal) = going.get(&key)
                && !self.comes_after(arrival, removal.id)
            {
                let names = kind.exclusive.join(", ");
                found.push(format!(
                    "{} comes before {}, and only one of them may have the same {names}",
                    arrival.title(),
                    removal.title()
                ));
            }
        }
        found
    }
}

fn each_reference<'v>(value: &'v Value, found: &mut BTreeSet<&'v Address>) {
    match value {
        Value::Reference(reference) => {
            found.insert(&reference.address);
        }
        Value::List(items) => items.iter().for_each(|item| each_reference(item, found)),
        Value::Map(entries) => entries.values().for_each(|value| each_reference(value, found)),
        _ => {}
    }
}

fn texts<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => {
            found.insert(text);
        }
        Value::List(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Map(entries) => entries.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}
