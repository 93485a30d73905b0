//! Changes sorted by what becomes of their resources, and how many there are of each.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use slipway_resource::Address;
use slipway_resource::provider::Disruption;

use super::clean::plural;
use super::line::{Mark, Style};
use crate::change::{ChangeAction, ResourceChange};
use crate::file::{Mode, Plan};
use crate::step::{Step, StepAction};
use crate::titles::Titles;

/// The groups of changes, in the order of the text: changes that need most attention come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Group {
    /// It is made.
    Create,
    /// It is recorded, renamed or only taken note of.
    Record,
    /// It is changed in place.
    Update,
    /// Its machines are rolled.
    Roll,
    /// It gives way to a new one.
    Replace,
    /// It is deleted.
    Delete,
    /// It is left in the cloud and forgotten.
    Forget,
    /// Nothing is decided about it.
    Deferred,
}

impl Group {
    /// The heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Record => "Record",
            Self::Update => "Update in place",
            Self::Roll => "Roll",
            Self::Replace => "Replace",
            Self::Delete => "Delete",
            Self::Forget => "Forget",
            Self::Deferred => "Deferred",
        }
    }

    /// The symbol before an address.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Record => "≡",
            Self::Update => "~",
            Self::Roll => "»",
            Self::Replace => "±",
            Self::Delete => "-",
            Self::Forget => "∅",
            Self::Deferred => "?",
        }
    }

    /// The colour of the symbol.
    pub(super) fn style(self) -> Style {
        match self {
            Self::Create => Style::Added,
            Self::Update => Style::Changed,
            Self::Replace => Style::Replaced,
            Self::Delete => Style::Removed,
            Self::Record | Self::Roll => Style::Rolled,
            Self::Forget | Self::Deferred => Style::Faint,
        }
    }

    /// The colour of the line in a comment.
    pub(super) fn mark(self) -> Mark {
        match self {
            Self::Create => Mark::Added,
            Self::Delete => Mark::Removed,
            Self::Record | Self::Deferred => Mark::None,
            _ => Mark::Attention,
        }
    }

    /// The group of a change.
    pub(super) fn of(change: &ResourceChange) -> Self {
        Self::of_action(change.action, change.rolls())
    }

    /// The group of a change of which only the action is known, and whether machines are rolled.
    pub(super) fn of_action(action: ChangeAction, rolls: bool) -> Self {
        match action {
            ChangeAction::Create => Self::Create,
            ChangeAction::NoOp | ChangeAction::Update | ChangeAction::Record if rolls => Self::Roll,
            ChangeAction::Update => Self::Update,
            ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => Self::Replace,
            ChangeAction::Delete => Self::Delete,
            ChangeAction::Forget => Self::Forget,
            ChangeAction::NoOp | ChangeAction::Adopt | ChangeAction::Record => Self::Record,
            ChangeAction::Deferred => Self::Deferred,
        }
    }
}

/// How many resources a plan does what to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Made.
    pub create: u64,
    /// Changed in place.
    pub update: u64,
    /// Given up for a new one.
    pub replace: u64,
    /// Rolled machine by machine; one that is also changed or recorded counts only here.
    pub roll: u64,
    /// Machines that those rolls replace or retire.
    pub machines: u64,
    /// Deleted; older and doubled objects of a resource that stays count too.
    pub delete: u64,
    /// Staying as they are, while their record in the state is added or changed.
    pub record: u64,
    /// Given another address.
    pub rename: u64,
    /// Left in the cloud and forgotten.
    pub forget: u64,
    /// Not decided about.
    pub deferred: u64,
    /// Changed outside Slipway.
    pub drift: u64,
    /// Kept although the spec or the cluster is deleted.
    pub kept: u64,
    /// Left out by a plan of a part.
    pub left_out: u64,
    /// Without a change.
    pub unchanged: u64,
}

impl Counts {
    /// Counts a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        View::of(plan).counts
    }

    fn count(&mut self, change: &ResourceChange) {
        match change.action {
            ChangeAction::NoOp => {}
            ChangeAction::Create => self.create += 1,
            // A pool whose machines are rolled counts as that.
            ChangeAction::Update | ChangeAction::Record if change.rolls() => {}
            ChangeAction::Update => self.update += 1,
            ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => self.replace += 1,
            ChangeAction::Delete => self.delete += 1,
            ChangeAction::Forget => self.forget += 1,
            ChangeAction::Adopt | ChangeAction::Record => self.record += 1,
            ChangeAction::Deferred => self.deferred += 1,
        }
        if change.previous_address.is_some() {
            self.rename += 1;
        }
        if change.rolls() {
            self.roll += 1;
            self.machines += change.machines.len() as u64;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} to create, {} to update, {} to replace, ",
            self.create, self.update, self.replace
        )?;
        if self.roll > 0 {
            let machines =
                plural(usize::try_from(self.machines).unwrap_or(usize::MAX), "machine", "machines");
            write!(formatter, "{} to roll ({machines}), ", self.roll)?;
        }
        write!(formatter, "{} to delete", self.delete)?;
        for (count, what) in [
            (self.record, "to record"),
            (self.rename, "to rename"),
            (self.forget, "to forget"),
            (self.deferred, "deferred"),
        ] {
            if count > 0 {
                write!(formatter, ", {count} {what}")?;
            }
        }
        write!(formatter, "; {} unchanged", self.unchanged)?;
        if self.kept > 0 {
            write!(formatter, ", {} kept", self.kept)?;
        }
        if self.left_out > 0 {
            write!(formatter, ", {} left out", self.left_out)?;
        }
        Ok(())
    }
}

/// A plan with its changes sorted and its steps found by address.
pub(super) struct View<'p> {
    /// The plan.
    pub(super) plan: &'p Plan,
    /// Changes by group, each in the order of the addresses.
    pub(super) groups: BTreeMap<Group, Vec<&'p ResourceChange>>,
    /// How many there are.
    pub(super) counts: Counts,
    /// The steps in words.
    pub(super) titles: Titles<'p>,
    steps: HashMap<&'p Address, Vec<&'p Step>>,
}

impl<'p> View<'p> {
    /// Sorts a plan.
    pub(super) fn of(plan: &'p Plan) -> Self {
        let mut steps: HashMap<&Address, Vec<&Step>> = HashMap::new();
        for step in &plan.steps {
            // A gate on a node is shown with the pool that is rolled.
            steps.entry(step.roll.as_ref().unwrap_or(&step.address)).or_default().push(step);
        }
        let mut view = Self {
            plan,
            groups: BTreeMap::new(),
            counts: Counts {
                drift: plan.drift.len() as u64,
                kept: plan.kept.len() as u64,
                left_out: plan.left_out,
                unchanged: plan.unchanged,
                ..Counts::default()
            },
            titles: Titles::of(plan),
            steps,
        };
        for change in &plan.changes {
            view.counts.count(change);
            view.counts.delete += view.surplus(change).count() as u64;
            view.groups.entry(view.group(change)).or_default().push(change);
        }
        view
    }

    /// The groups to show; a plan that only looks for drift does nothing, so it has only what it could not read.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Group, &[&'p ResourceChange])> {
        self.groups
            .iter()
            .filter(|(group, _)| self.plan.mode != Mode::Drift || **group == Group::Deferred)
            .map(|(group, changes)| (*group, changes.as_slice()))
    }

    /// The group of a change; one that only clears older objects away deletes.
    pub(super) fn group(&self, change: &ResourceChange) -> Group {
        match Group::of(change) {
            Group::Record if self.surplus(change).next().is_some() => Group::Delete,
            group => group,
        }
    }

    /// The steps on a resource and on the nodes of its machines, in their order.
    pub(super) fn steps(&self, address: &Address) -> &[&'p Step] {
        self.steps.get(address).map_or(&[], Vec::as_slice)
    }

    /// Deletions of older or doubled objects of a resource, beside its own replacement.
    pub(super) fn surplus(&self, change: &ResourceChange) -> impl Iterator<Item = &'p Step> {
        let own = change.action.is_replace().then(|| change.identity.clone()).flatten();
        self.steps(&change.address).iter().copied().filter(move |step| {
            step.action == StepAction::Delete { surplus: true } && (own.is_none() || step.identity != own)
        })
    }

    /// Whether a change may lose data or interrupt what runs on the cluster: it deletes or replaces the object, rolls
    /// its machines, interrupts it, or needs a confirmation by name. Dangerous changes are never folded away.
    pub(super) fn is_dangerous(&self, change: &ResourceChange) -> bool {
        change.action.is_replace()
            || change.action == ChangeAction::Delete
            || change.confirmation.is_some()
            || change.disruption != Disruption::None
            || !change.machines.is_empty()
            || self.surplus(change).next().is_some()
    }
}
