//! Properties that must always hold, and courses that must be possible.

use std::collections::BTreeSet;

use stateright::Property;

use super::process::{Fate, Holding, Process, Stage};
use super::world::{Clocks, State, World};

/// The promises of a world.
pub(super) fn all(world: &World) -> Vec<Property<World>> {
    let mut properties = vec![
        Property::always("what was acknowledged is read, and read once", |_, state: &State| {
            acknowledged_is_read(state)
        }),
        Property::always("no epoch goes on behind its seal", |_, state: &State| {
            !state.store.goes_on_behind_a_seal()
        }),
        Property::always(
            "who holds the cluster has seen everything that was begun before",
            |_, state: &State| holder_has_seen_all(state),
        ),
        Property::always("the head changes as it may", |_, state: &State| state.store.violation.is_none()),
        Property::always("no commit is lost, and none is doubled", |_, state: &State| commits_count(state)),
        Property::always("the limit is a term", |_, state: &State| state.waits_for_no_more_than_a_term()),
        Property::sometimes("one that was replaced is told so", |_, state: &State| {
            state.processes.iter().any(|process| matches!(process.stage, Stage::Gone(Fate::Lost)))
        }),
    ];
    if world.budget.commits > 0 {
        properties.push(Property::sometimes(
            "a silent holder is replaced, and the next one commits",
            |_, state: &State| {
                let lost = |process: &Process| matches!(process.stage, Stage::Gone(Fate::Lost));
                state.processes.iter().any(lost)
                    && state.processes.iter().any(|process| !lost(process) && process.committed.is_some())
            },
        ));
        properties.push(Property::sometimes("all get their turn", |_, state: &State| {
            state.processes.iter().all(|process| process.committed.is_some())
        }));
    }
    if world.clocks == Clocks::Honest {
        properties.push(Property::always("who relies on its lease is the holder", |_, state: &State| {
            lease_is_kept(state)
        }));
    } else {
        properties.push(Property::sometimes(
            "what one begins who was replaced is seen",
            |_, state: &State| {
                holdings(state).any(|(name, holding)| {
                    holding.seen.iter().any(|record| !record.starts_with(name))
                        && state
                            .processes
                            .iter()
                            .any(|other| other.name != name && matches!(other.stage, Stage::Holding(_)))
                })
            },
        ));
    }
    if world.timeouts > 0 {
        properties
            .push(Property::sometimes("a request takes effect that nobody waits for", |_, state: &State| {
                state.was_late
            }));
    }
    if !world.may_give_up && world.budget.commits > 0 {
        properties.push(Property::eventually("somebody commits", |_, state: &State| {
            state.store.head.as_ref().is_some_and(|(head, _)| head.generation.0 > 0)
        }));
    }
    properties
}

fn holdings(state: &State) -> impl Iterator<Item = (char, &Holding)> {
    state.processes.iter().filter_map(|process| match &process.stage {
        Stage::Holding(holding) => Some((process.name, &**holding)),
        _ => None,
    })
}

fn acknowledged_is_read(state: &State) -> bool {
    let Ok(records) = state.store.read() else { return false };
    let distinct: BTreeSet<&String> = records.iter().collect();
    distinct.len() == records.len()
        && state
            .processes
            .iter()
            .all(|process| process.acknowledged.iter().all(|record| distinct.contains(record)))
}

/// While a holder's epoch is the newest one, the stored records are those that it has read or appended.
fn holder_has_seen_all(state: &State) -> bool {
    let Some((head, _)) = &state.store.head else { return true };
    let Ok(records) = state.store.read() else { return false };
    holdings(state).filter(|(_, holding)| holding.hold.epoch == head.epoch).all(|(name, holding)| {
        records
            .strip_prefix(&holding.seen[..])
            .is_some_and(|own| own.iter().all(|record| record.starts_with(name)))
    })
}

/// Every acknowledged generation was made by one process only, and exists.
fn commits_count(state: &State) -> bool {
    let generation = state.store.head.as_ref().map_or(0, |(head, _)| head.generation.0);
    let made: Vec<u64> = state.processes.iter().filter_map(|process| process.committed).collect();
    let distinct: BTreeSet<&u64> = made.iter().collect();
    distinct.len() == made.len() && made.iter().all(|made| *made <= generation)
}

fn lease_is_kept(state: &State) -> bool {
    state.processes.iter().all(|process| match &process.stage {
        Stage::Holding(holding) if holding.tenure.valid(process.clock).is_ok() => {
            let (head, _) = state.store.head.as_ref().expect("a holder's head");
            head.epoch == holding.hold.epoch
                && head.holder.as_ref().is_some_and(|holder| holder.id == holding.hold.id)
        }
        _ => true,
    })
}
