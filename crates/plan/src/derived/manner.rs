//! How the steps of a plan file roll machines: which ones, in which time, and after which gates.

use std::collections::BTreeSet;

use slipway_resource::provider::{Fate, Member, OnBlocked, Rollout, operation};
use slipway_resource::{Address, Value};

use super::is_gate;
use crate::change::ResourceChange;
use crate::soundness::rolls::{Roll, too_early};
use crate::step::{Step, StepAction, StepId};
use crate::step_graph::usual_timeout_ms;
use crate::turns::DRAIN_MS;

/// The first step whose time-out is not what the planner gives, as a sentence. [`fault`] has those of rolls.
pub(crate) fn timeouts(changes: &[ResourceChange], steps: &[Step]) -> Option<String> {
    let with_drain = changes.iter().filter(|change| change.drained.is_some());
    let drained: BTreeSet<&Address> = with_drain.map(|change| &change.address).collect();
    steps.iter().find_map(|step| match &step.action {
        StepAction::Operation { name, .. } if name == operation::VERIFY => None,
        StepAction::Operation { name, .. } if name == operation::DRAIN => {
            let is_of_kubelet = step.roll.as_ref().is_some_and(|pool| drained.contains(pool));
            if is_of_kubelet { timeout(step, DRAIN_MS.1) } else { None }
        }
        _ => timeout(step, usual_timeout_ms(step.estimate_ms)),
    })
}

/// Another time-out than the planner gives, as a sentence.
fn timeout(step: &Step, planned_ms: u64) -> Option<String> {
    let given = step.timeout_ms;
    (given != planned_ms)
        .then(|| format!("timeout_ms of {} is {given}, instead of {planned_ms}", step.title()))
}

/// The first part of a roll that is not what the provider of its pool plans, as a sentence.
pub(crate) fn fault(
    steps: &[Step],
    change: &ResourceChange,
    rollout: Option<&Rollout>,
    roll: Option<&Roll<'_>>,
) -> Option<String> {
    let members = rollout.map_or(&[][..], |rollout| &rollout.members);
    let other = machines(change, members);
    let (Some(rollout), Some(roll)) = (rollout, roll) else { return other };
    other
        .or_else(|| times(rollout, roll))
        .or_else(|| prerequisites(steps, rollout, roll))
        .or_else(|| starts(rollout, roll))
}

/// A roll starts as many machines as its pool needs beside those that stay. Beyond the surge of the pool, each new machine takes the
/// place of another one that is removed before.
fn starts(rollout: &Rollout, roll: &Roll<'_>) -> Option<String> {
    let address = &roll.change.address;
    let existing = rollout.members.len();
    let size = rollout.size as usize;
    let wanted = size.saturating_sub(existing.saturating_sub(roll.change.machines.len()));
    let slots: Vec<String> = (1..=wanted).map(|slot| slot.to_string()).collect();
    if roll.starts.len() != wanted || !slots.iter().all(|slot| roll.starts.contains_key(slot)) {
        let given = roll.starts.len();
        return Some(format!("the roll of {address} starts {given} machines, and its pool needs {wanted}"));
    }
    let removals: BTreeSet<StepId> = roll.removals.values().map(|removal| removal.id).collect();
    let mut taken: BTreeSet<StepId> = BTreeSet::new();
    let most = size + rollout.max_surge as usize;
    for (position, slot) in slots.iter().enumerate() {
        let start = roll.starts.get(slot)?;
        let needed = (existing + position + 1).saturating_sub(most);
        if needed == 0 || needed > removals.len() {
            continue;
        }
        let is_free = |id: &&StepId| removals.contains(*id) && !taken.contains(*id);
        let Some(removal) = start.depends_on.iter().find(is_free).copied() else {
            return Some(format!("{} does not wait until a machine is removed for it", start.title()));
        };
        taken.insert(removal);
    }
    None
}

/// The machines of a change are machines of the pool, and all that leave by the plan of its provider. More of them leave if their
/// replacement was asked for, or if they use an object that is replaced.
fn machines(change: &ResourceChange, members: &[Member]) -> Option<String> {
    let address = &change.address;
    let is_replaced = change.action.is_replace();
    for machine in &change.machines {
        let Some(member) = members.iter().find(|member| member.identity == machine.identity) else {
            return Some(format!(
                "machines of {address} has {}, which the pool does not have",
                machine.identity
            ));
        };
        let replaced = is_replaced || !matches!(member.fate, Fate::Retire { .. });
        if machine.replaced != replaced {
            return Some(format!(
                "replaced of the machine {} of {address} is {}",
                machine.identity, !replaced
            ));
        }
    }
    let is_named = |member: &&Member| {
        (!is_replaced && member.fate == Fate::Keep)
            || change.machines.iter().any(|machine| machine.identity == member.identity)
    };
    let hidden = members.iter().find(|member| !is_named(member))?;
    Some(format!("machines of {address} does not have {}, which leaves", hidden.identity))
}

/// The limits of drains and of new nodes are those of the pool.
fn times(rollout: &Rollout, roll: &Roll<'_>) -> Option<String> {
    let drained = roll
        .drains
        .values()
        .find_map(|step| drain(step, rollout).or_else(|| timeout(step, rollout.drain_timeout_ms)));
    let ready_ms = match rollout.ready_timeout_ms.saturating_add(rollout.settle_ms) {
        0 => None,
        limit => Some(limit),
    };
    drained.or_else(|| {
        let mut verified = roll.verified.values().chain(&roll.waits);
        verified.find_map(|step| {
            argument(step, "timeout_ms", step.roll.as_ref().map(|_| milliseconds(rollout.ready_timeout_ms)))
                .or_else(|| {
                    let settles = step.roll.as_ref().filter(|_| rollout.settle_ms > 0);
                    argument(step, "settle_ms", settles.map(|_| milliseconds(rollout.settle_ms)))
                })
                .or_else(|| timeout(step, ready_ms.unwrap_or_else(|| usual_timeout_ms(step.estimate_ms))))
        })
    })
}

/// Another argument of a drain than the pool asks for. A pool whose provider names no nodes gets only the time.
fn drain(step: &Step, rollout: &Rollout) -> Option<String> {
    let of_node = step.roll.as_ref();
    let ignores = of_node.filter(|_| rollout.ignore_budgets).map(|_| Value::Bool(true));
    let on_blocked = of_node.filter(|_| rollout.on_blocked != OnBlocked::Fail);
    argument(step, "timeout_ms", Some(milliseconds(rollout.drain_timeout_ms)))
        .or_else(|| argument(step, "ignore_budgets", ignores))
        .or_else(|| {
            argument(step, "on_blocked", on_blocked.map(|_| Value::from(rollout.on_blocked.as_str())))
        })
}

fn argument(step: &Step, name: &str, wanted: Option<Value>) -> Option<String> {
    let StepAction::Operation { arguments, .. } = &step.action else { return None };
    let given = arguments.get(name);
    (given != wanted.as_ref()).then(|| format!("{name} of {} is not that of its pool", step.title()))
}

fn milliseconds(time: u64) -> Value {
    Value::Integer(i64::try_from(time).unwrap_or(i64::MAX))
}

/// The gates that come before the first machine leaves, such as a snapshot of etcd.
fn prerequisites(steps: &[Step], rollout: &Rollout, roll: &Roll<'_>) -> Option<String> {
    let departures = roll.departures();
    if departures.is_empty() {
        return None;
    }
    rollout.prerequisites.iter().find_map(|gate| {
        let is_it = |step: &&Step| {
            step.address == gate.address && is_gate(&step.action, &gate.operation, &gate.arguments)
        };
        let Some(step) = steps.iter().find(is_it) else {
            let pool = &roll.change.address;
            return Some(format!("no step does {} {} before {pool} is rolled", gate.operation, gate.address));
        };
        let early = departures.iter().find(|(departure, _)| !departure.depends_on.contains(&step.id));
        early.map(|(departure, _)| too_early(departure, step))
    })
}
