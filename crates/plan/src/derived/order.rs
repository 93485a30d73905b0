//! The order of the rolls of several pools, as their providers ask for it.
//!
//! Each roll keeps the budget of its own pool. That pools of control planes are rolled one after the other, and workers after them,
//! is in no budget.

use std::collections::BTreeMap;

use slipway_resource::Address;
use slipway_resource::provider::Rollout;

use crate::change::ChangeAction;
use crate::soundness::rolls::{Roll, too_early};
use crate::step::Step;

/// The first step of a roll that does not wait for the end of another one that comes before it, as a sentence: that of a group which
/// its pool waits for, or the one before it in its own group, if only one roll of the group may be under way. The rolls come in the
/// order in which the planner adds them.
pub(crate) fn fault(
    rolls: &BTreeMap<&Address, Roll<'_>>,
    rollouts: &BTreeMap<&Address, &Rollout>,
) -> Option<String> {
    // Nothing was decided about a deferred pool whose machines leave: its provider cannot be asked for its group.
    if rolls.keys().any(|address| !rollouts.contains_key(*address)) {
        return None;
    }
    let mut ordered: Vec<(usize, &Address)> =
        rollouts.iter().map(|(address, rollout)| (rollout.after.len(), *address)).collect();
    ordered.sort();
    let mut ends: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    for (_, address) in ordered {
        let (Some(rollout), Some(roll)) = (rollouts.get(address), rolls.get(address)) else { continue };
        let goes = roll.change.action == ChangeAction::Delete;
        let awaited = rollout.after.iter().filter(|_| !goes).map(String::as_str);
        let groups: Vec<&Step> = awaited.filter_map(|group| ends.get(group)).flatten().copied().collect();
        let mut before = groups.clone();
        if rollout.exclusive {
            before.extend(ends.get(rollout.group.as_str()).into_iter().flatten());
        }
        let update = roll.update.filter(|_| roll.change.action == ChangeAction::Update);
        let departures = roll.departures().into_iter().map(|(departure, _)| departure);
        let early = update.and_then(|update| first_early(update, &groups)).or_else(|| {
            departures.chain(roll.starts.values().copied()).find_map(|begin| first_early(begin, &before))
        });
        if early.is_some() {
            return early;
        }
        let own: Vec<&Step> = roll.removals.values().copied().chain(roll.arrivals()).collect();
        let group = ends.entry(rollout.group.as_str()).or_default();
        if rollout.exclusive && !own.is_empty() {
            group.clear();
        }
        group.extend(own);
    }
    None
}

fn first_early(begin: &Step, before: &[&Step]) -> Option<String> {
    let end = before.iter().find(|end| !begin.depends_on.contains(&end.id))?;
    Some(too_early(begin, end))
}
