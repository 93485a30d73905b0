//! Changes outside Slipway that no attribute shows: missing machines and machines beyond the size, lost ownership tags, doubled
//! objects.

use std::collections::BTreeSet;

use slipway_resource::diff::Change;
use slipway_resource::provider::{Fate, Member, Rollout};
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Desired, Identity, Path, ResourceType, Value};

use crate::change::ResourceChange;
use crate::decide::KnownResource;
use crate::observations::{Found, Observations};
use crate::providers::Providers;
use crate::reason::{Reason, ReasonCode};
use crate::state::Record;

/// The providers that have listed an object of the cluster, so that one that they do not list is not the cluster's any more.
pub(crate) fn owning(observations: &Observations, providers: &Providers) -> BTreeSet<String> {
    let provider = |kind: &str| providers.of_type(kind).map(|(name, _, _)| name.to_owned());
    observations.owned_types().into_iter().filter_map(provider).collect()
}

/// Whether an object that Slipway made has lost its ownership tags: without them it is not found again when the state is lost.
/// Objects that another tool made have none, and get none.
pub(crate) fn has_lost_tags(
    desired: &Desired,
    (provider, kind): (&str, &ResourceType),
    (record, object): (Option<&Record>, Option<&Found>),
    (observations, owning): (&Observations, &BTreeSet<String>),
) -> bool {
    let (Some(record), Some(object)) = (record, object) else { return false };
    let is_listed =
        kind.ownership == OwnershipKind::Tags && !kind.read_by_identity && owning.contains(provider);
    let is_own = !record.existing && !record.untagged && desired.lifecycle.existing.is_none();
    is_listed
        && is_own
        && record.identity == object.identity
        && observations.has_no_owner(&desired.address, &object.identity)
}

/// The reason of a step that writes ownership tags again.
pub(crate) fn retagged() -> Reason {
    let text = "it has lost the ownership tags of this cluster, which are written again";
    Reason::new(ReasonCode::LifecycleChanged, text)
}

/// The machines of a pool as its provider found them, before the user asks to replace any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machines {
    /// How many exist.
    count: usize,
    /// Whether one that exists is replaced by another.
    is_rolling: bool,
}

impl Machines {
    pub(crate) fn of(rollout: &Rollout) -> Self {
        let standing = || rollout.members.iter().filter(|member| !is_gone(member));
        let is_replaced = |member: &Member| matches!(member.fate, Fate::Replace { .. });
        Self { count: standing().count(), is_rolling: standing().any(is_replaced) }
    }
}

/// The reason to update a pool that looks as the spec asks: machines are missing, and its provider starts them with an update, by
/// which other attributes change. Where the cloud starts them by itself, there is none.
pub(crate) fn restarts(pool: Option<(&Rollout, Machines)>, unknown_after: &[Path]) -> Option<Reason> {
    let is_short = |(rollout, machines): &(&Rollout, Machines)| {
        !rollout.has_leaving() && machines.count < rollout.size as usize
    };
    let (rollout, machines) = pool.filter(is_short).filter(|_| !unknown_after.is_empty())?;
    let text = format!("{}; the missing ones are started", shown(rollout.size, machines));
    Some(Reason::new(ReasonCode::Vanished, text))
}

/// What was changed outside Slipway beside the attributes of an object.
pub(crate) fn reasons(
    known: &KnownResource<'_>,
    object: &Found,
    pool: Option<(&Rollout, Machines)>,
    changes: &[Change],
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let Some(record) = known.record.filter(|record| record.identity == object.identity) else {
        return reasons;
    };
    if record.existing || known.desired.lifecycle.existing.is_some() {
        return reasons;
    }
    if let Some((rollout, machines)) = pool
        && !known.is_rolled
        && is_of_another_size(rollout, machines, known, changes)
    {
        reasons.push(Reason::new(ReasonCode::FieldDrifted, shown(rollout.size, machines)));
    }
    if known.lost_tags {
        let text = "its ownership tags were removed outside Slipway";
        reasons.push(Reason::new(ReasonCode::FieldDrifted, text));
    }
    let others = known.surplus.iter().map(|found| &found.identity);
    let others: Vec<&str> =
        others.filter(|identity| !record.deposed.contains(identity)).map(Identity::as_str).collect();
    if !others.is_empty() {
        let text = format!("{} has its ownership tags too", others.join(", "));
        reasons.push(Reason::new(ReasonCode::Duplicate, text));
    }
    reasons
}

/// A report of drift with more reasons; `blank` makes one where no attribute has drifted.
pub(crate) fn extend(
    drift: Option<ResourceChange>,
    reasons: Vec<Reason>,
    blank: impl FnOnce() -> ResourceChange,
) -> Option<Box<ResourceChange>> {
    if reasons.is_empty() {
        return drift.map(Box::new);
    }
    let mut drift = drift.unwrap_or_else(blank);
    drift.reasons.extend(reasons);
    Some(Box::new(drift))
}

/// Whether a pool has another number of machines than it was applied with. In a roll, and where the spec asks for another pool,
/// the number says nothing.
fn is_of_another_size(
    rollout: &Rollout,
    machines: Machines,
    known: &KnownResource<'_>,
    changes: &[Change],
) -> bool {
    let applied = known.record.and_then(|record| record.applied.as_ref());
    let is_asked_for = |change: &Change| {
        let before = applied.map(|applied| applied.at(&change.path).unwrap_or(&Value::Null));
        before != Some(known.resolved.at(&change.path).unwrap_or(&Value::Null))
    };
    !machines.is_rolling && machines.count != rollout.size as usize && !changes.iter().any(is_asked_for)
}

/// Whether a machine is an empty place of its pool: it does not run, and no attribute asks for another one.
fn is_gone(member: &Member) -> bool {
    matches!(member.fate, Fate::Replace { path: None, .. }) && !member.ready
}

/// The number of machines, for people.
fn shown(size: u32, Machines { count, .. }: Machines) -> String {
    match count {
        0 => format!("none of its {size} machines exists"),
        1 => format!("1 machine exists, and the size of the pool is {size}"),
        count => format!("{count} machines exist, and the size of the pool is {size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::workers;

    fn rollout(size: u32, fates: &[Fate]) -> Rollout {
        let member = |(index, fate): (usize, &Fate)| Member {
            name: format!("m-{index}"),
            identity: Identity::new(format!("id-{index}")),
            fate: fate.clone(),
            ready: true,
            blockers: Vec::new(),
            node: None,
        };
        Rollout {
            size,
            members: fates.iter().enumerate().map(member).collect(),
            drain_timeout_ms: 0,
            ready_timeout_ms: 0,
            on_blocked: slipway_resource::provider::OnBlocked::Fail,
            ..workers()
        }
    }

    #[test]
    fn an_update_starts_missing_machines_where_the_provider_does_so() {
        let machines = [Path::key("machines")];
        let restarts = |rollout: Option<&Rollout>, after: &[Path]| {
            super::restarts(rollout.map(|rollout| (rollout, Machines::of(rollout))), after)
        };
        let short = rollout(3, &[Fate::Keep, Fate::Keep]);
        assert!(restarts(Some(&short), &machines).is_some());
        assert!(restarts(Some(&short), &[]).is_none(), "the cloud starts them by itself");
        assert!(restarts(Some(&rollout(2, &[Fate::Keep, Fate::Keep])), &machines).is_none());
        let replaced = Fate::Replace { reason: "a".to_owned(), path: None };
        assert!(restarts(Some(&rollout(3, &[Fate::Keep, replaced])), &machines).is_none());
        assert!(restarts(None, &machines).is_none());
    }
}
