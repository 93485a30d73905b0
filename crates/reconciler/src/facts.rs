//! What a policy has to know about a plan.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use slipway_operations::Weakening;
use slipway_plan::{ChangeAction, Plan, ReasonCode, ResourceChange, StepAction};
use slipway_resource::Address;
use slipway_resource::provider::{Disruption, operation};

/// A plan in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Resources that are created.
    pub create: u64,
    /// Resources that are changed in place.
    pub update: u64,
    /// Resources that are replaced.
    pub replace: u64,
    /// Resources that are deleted.
    pub delete: u64,
    /// Resources that are rolled, renamed, adopted, recorded or forgotten.
    pub other: u64,
    /// Resources that could not be read, so that nothing is decided about them.
    pub deferred: u64,
    /// Resources that were changed outside Slipway.
    pub drift: u64,
    /// Changes that do more than to revert what was changed outside Slipway: they come from the spec, or a person has asked for them.
    pub from_spec: u64,
    /// Why the plan is not one that destroys, rolls and interrupts nothing; empty for such a plan.
    pub unsafe_because: Vec<String>,
    /// The names that confirm what the plan loses.
    pub confirmations: Vec<String>,
    /// The expected duration in milliseconds.
    pub estimate_ms: u64,
}

/// How many reasons are kept.
const REASONS: usize = 5;

impl Facts {
    /// The facts about a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let drifted: BTreeSet<&Address> = plan.drift.iter().map(|change| &change.address).collect();
        let mut facts = Self {
            drift: drifted.len() as u64,
            confirmations: plan.confirmations().into_iter().map(|confirmation| confirmation.name).collect(),
            estimate_ms: plan.estimate_ms,
            ..Self::default()
        };
        for change in &plan.changes {
            facts.count(change);
            if !drifted.contains(&change.address) || is_asked_for(change) {
                facts.from_spec += 1;
            }
        }
        facts.from_spec += u64::from(plan.sets_protection.is_some());
        let rolls =
            plan.steps.iter().filter(|step| is_roll(&step.action)).map(|step| {
                format!("{} {}", step.action.verb(), step.roll.as_ref().unwrap_or(&step.address))
            });
        let lifted = (plan.sets_protection == Some(false)).then(|| "the protection is removed".to_owned());
        let reasons: BTreeSet<String> =
            plan.changes.iter().filter_map(danger).chain(rolls).chain(lifted).collect();
        facts.unsafe_because = reasons.into_iter().take(REASONS).collect();
        facts
    }

    /// Adds what the spec gives up: a plan with it is not safe.
    pub fn give_up(&mut self, weakened: Vec<Weakening>) {
        let room = REASONS.saturating_sub(self.unsafe_because.len()).max(1);
        self.unsafe_because.extend(weakened.iter().take(room).map(ToString::to_string));
    }

    fn count(&mut self, change: &ResourceChange) {
        let counter = match change.action {
            ChangeAction::Create => &mut self.create,
            ChangeAction::Update => &mut self.update,
            ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => &mut self.replace,
            ChangeAction::Delete => &mut self.delete,
            ChangeAction::Deferred => &mut self.deferred,
            ChangeAction::NoOp | ChangeAction::Forget | ChangeAction::Adopt | ChangeAction::Record => {
                &mut self.other
            }
        };
        *counter += 1;
    }

    /// Whether all changes revert what was changed outside Slipway.
    #[must_use]
    pub fn is_only_drift(&self) -> bool {
        self.drift > 0 && self.from_spec == 0
    }
}

/// As `2 to create, 1 to delete`.
impl std::fmt::Display for Facts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [
            (self.create, "create"),
            (self.update, "change"),
            (self.replace, "replace"),
            (self.delete, "delete"),
            (self.other, "roll or record"),
        ];
        let parts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, verb)| format!("{count} to {verb}"))
            .collect();
        match parts.as_slice() {
            [] => formatter.write_str("no changes"),
            parts => formatter.write_str(&parts.join(", ")),
        }
    }
}

/// Whether a change does more than to revert what was changed outside Slipway: the spec has another value, or a person has asked for
/// new machines.
fn is_asked_for(change: &ResourceChange) -> bool {
    change.reasons.iter().any(|reason| match reason.code {
        ReasonCode::FieldRemoved | ReasonCode::Requested => true,
        // A value that its provider sets is unknown until the apply.
        ReasonCode::FieldChanged => change
            .changes
            .iter()
            .any(|field| Some(&field.path) == reason.path.as_ref() && field.after.is_known()),
        _ => false,
    })
}

/// Why a change is no safe one.
fn danger(change: &ResourceChange) -> Option<String> {
    let verb = match change.action {
        ChangeAction::Delete => "delete",
        ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => "replace",
        _ if change.confirmation.is_some() => "lose data of",
        _ if change.disruption > Disruption::None => "interrupt",
        _ if weakens(change) => "change the protection of",
        _ => return None,
    };
    Some(format!("{verb} {}", change.address))
}

/// Whether a change may let a later plan delete a resource that stays until now.
fn weakens(change: &ResourceChange) -> bool {
    let is_guarded = change.record.retain && change.record.protected;
    let settings = change.reasons.iter().filter(|reason| reason.code == ReasonCode::LifecycleChanged);
    // One reason is that tags are written again.
    !is_guarded && settings.count() > usize::from(change.retag)
}

/// Whether a step drains or removes a machine.
fn is_roll(action: &StepAction) -> bool {
    match action {
        StepAction::Operation { name, .. } => {
            [operation::CORDON, operation::DRAIN, operation::REMOVE].contains(&name.as_str())
        }
        StepAction::Delete { .. } => true,
        _ => false,
    }
}
