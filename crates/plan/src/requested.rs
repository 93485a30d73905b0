//! Rolls that a user asks for: machines are replaced although they are as their pool wants them.
//!
//! While such a roll did not end, the state has its pools and the machines that it has not removed yet. Plans continue it. They
//! replace these machines only, and keep those that the roll has started.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{Fate, Rollout, operation};
use slipway_resource::{Address, Desired, Identity, Value};

use crate::change::ResourceChange;
use crate::file::{Mode, Plan};
use crate::planner::Inputs;
use crate::scope::belongs_to_pool;
use crate::step::{Step, StepAction};

/// What a plan does with a requested roll that did not end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// The plan continues it.
    #[default]
    Continue,
    /// The named pools are rolled from the beginning, with all of their machines.
    Restart,
    /// The named pools keep the machines that have no replacement yet.
    Abandon,
}

/// The first words of the reason of a machine that is replaced on request.
const REASON: &str = "its replacement was asked for";

/// The old addresses of resources by their new ones: a roll that did not end is in the state at the old address of its pool.
pub(crate) type Moved = BTreeMap<Address, Address>;

/// The machines of a pool that are replaced on request.
enum Asked<'a> {
    /// All of them.
    All,
    /// Those that a roll which did not end has not removed.
    Left(&'a BTreeSet<Identity>),
}

/// Marks the machines of a pool that are replaced on request. Returns whether one of them is as its pool wants it, so that its
/// provider cannot know that it leaves.
pub(crate) fn mark((inputs, moved): (&Inputs<'_>, &Moved), desired: &Desired, rollout: &mut Rollout) -> bool {
    let Some(asked) = asked(inputs, moved, desired) else { return false };
    let mut anew = false;
    for member in rollout.members.iter_mut().filter(|member| member.fate == Fate::Keep) {
        let reason = match asked {
            Asked::All => REASON.to_owned(),
            Asked::Left(left) if left.contains(&member.identity) => {
                format!("{REASON}, and that roll did not end")
            }
            Asked::Left(_) => continue,
        };
        member.fate = Fate::Replace { reason, path: None };
        anew = true;
    }
    anew
}

/// The first step that starts a machine of a roll on request and does not say so: a run would not record the roll.
pub(crate) fn unrecorded<'p>(plan: &'p Plan, change: &ResourceChange) -> Option<&'p Step> {
    let mut machines = change.machines.iter();
    if !machines.any(|machine| machine.replaced && machine.reason.starts_with(REASON)) {
        return None;
    }
    plan.steps.iter().find(|step| {
        step.address == change.address
            && matches!(&step.action, StepAction::Operation { name, .. } if name == operation::SURGE)
            && !is_on_request(step)
    })
}

/// Whether a step starts a machine of a roll on request.
fn is_on_request(step: &Step) -> bool {
    match &step.action {
        StepAction::Operation { name, arguments } => {
            name == operation::SURGE && arguments.get("anew") == Some(&Value::Bool(true))
        }
        _ => false,
    }
}

/// Whether a requested roll of a pool did not end. The number of its machines then says nothing.
pub(crate) fn is_open(inputs: &Inputs<'_>, moved: &Moved, pool: &Address) -> bool {
    left(inputs, moved, pool).is_some_and(|left| !left.is_empty())
}

fn left<'a>(inputs: &'a Inputs<'_>, moved: &Moved, pool: &Address) -> Option<&'a BTreeSet<Identity>> {
    let rolls = &inputs.prior?.rolls;
    rolls.get(pool).or_else(|| rolls.get(moved.get(pool)?))
}

fn asked<'a>(inputs: &'a Inputs<'_>, moved: &Moved, desired: &Desired) -> Option<Asked<'a>> {
    if inputs.mode != Mode::Apply {
        return None;
    }
    let left = left(inputs, moved, &desired.address);
    let named = inputs.options.roll.as_ref().filter(|pools| belongs_to_pool(pools, desired));
    match (named, inputs.options.unfinished) {
        (None, _) => left.map(Asked::Left),
        (Some(_), Unfinished::Abandon) => None,
        (Some(_), Unfinished::Restart) => Some(Asked::All),
        (Some(pools), Unfinished::Continue) => {
            let continued = left.filter(|_| is_continued(inputs, moved, pools));
            Some(continued.map_or(Asked::All, Asked::Left))
        }
    }
}

/// Whether a request for these pools continues a roll that did not end: one of them has machines that are still to be replaced.
fn is_continued(inputs: &Inputs<'_>, moved: &Moved, pools: &[String]) -> bool {
    let is_open = |desired: &Desired| is_open(inputs, moved, &desired.address);
    inputs.desired.iter().any(|desired| belongs_to_pool(pools, desired) && is_open(desired))
}

/// Whether a plan abandons the roll of a pool.
pub(crate) fn is_abandoned(inputs: &Inputs<'_>, pool: &Address) -> bool {
    let is_it = |desired: &&Desired| desired.address == *pool;
    inputs.options.unfinished == Unfinished::Abandon
        && inputs.options.roll.as_ref().is_some_and(|pools| {
            inputs.desired.iter().find(is_it).is_some_and(|desired| belongs_to_pool(pools, desired))
        })
}

impl Plan {
    /// The pools whose machines are replaced on request, with the machines that leave. A run records them, so that the next plan
    /// continues a roll that did not end.
    #[must_use]
    pub fn requested_rolls(&self) -> BTreeMap<Address, BTreeSet<Identity>> {
        let started = self.steps.iter().filter(|step| is_on_request(step));
        let pools: BTreeSet<&Address> = started.map(|step| &step.address).collect();
        let rolled = self.changes.iter().filter(|change| pools.contains(&change.address));
        rolled
            .map(|change| {
                let machines = change.machines.iter().map(|machine| machine.identity.clone());
                (change.address.clone(), machines.collect())
            })
            .collect()
    }
}
