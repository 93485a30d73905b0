//! Replay of the journal: pure, with the same result as the run itself.

use std::collections::BTreeMap;

use slipway_plan::{Cordoned, Record, Snapshot, StepId};
use slipway_resource::provider::{Action, ApplyRequest, operation};
use slipway_resource::{Address, Digest, Identity, Token, Value};

use crate::journal::{Begin, Effect, End, EndResult, Entry, NewNode, RunBegin, Settled};

/// A step that began and did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenStep {
    /// How it began.
    pub begin: Begin,
    /// The object, if its identity is known.
    pub identity: Option<Identity>,
    /// The handle, if there is one.
    pub handle: Option<String>,
}

/// A run that was not committed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRun {
    /// Its plan.
    pub plan: Digest,
    /// The epoch in which it was begun first.
    pub epoch: u64,
    /// How many steps of the runs before it are done since the last commit.
    pub before: u64,
    /// Its steps that are done, with the object each has left.
    pub done: BTreeMap<StepId, Option<Identity>>,
    /// The nodes of the machines that its steps have started.
    pub nodes: BTreeMap<StepId, NewNode>,
}

/// The changes of the journal since the snapshot.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// The run that was not committed, if any.
    pub run: Option<OpenRun>,
    /// Steps of that run that began and did not end, in their order.
    pub open: BTreeMap<StepId, OpenStep>,
    /// Steps of earlier plans that began and did not end, by their tokens. Their providers did not answer,
    /// and later plans left their resources alone.
    pub unsettled: BTreeMap<Token, OpenStep>,
    /// Resources whose last step failed, with the message of the failure.
    pub failed: BTreeMap<Address, String>,
}

impl Replayed {
    /// Takes the next entry.
    pub fn apply(&mut self, snapshot: &mut Snapshot, entry: Entry) {
        match entry {
            Entry::RunBegin(RunBegin { plan, epoch, spec, rolls }) => {
                snapshot.spec = spec;
                snapshot.spec_digest = None;
                let resumed = self.run.as_ref().is_some_and(|run| run.plan == plan && run.epoch == epoch);
                if !resumed {
                    snapshot.rolls.extend(rolls);
                    let before = self.run.take().map_or(0, |run| run.before + run.done.len() as u64);
                    let (done, nodes) = (BTreeMap::new(), BTreeMap::new());
                    self.run = Some(OpenRun { plan, epoch, before, done, nodes });
                    self.leave_unsettled();
                }
            }
            Entry::Begin(begin) => self.begin(*begin),
            Entry::Identity { step, identity } => {
                if let Some(open) = self.open.get_mut(&step) {
                    open.identity = Some(identity);
                }
            }
            Entry::Handle { step, handle } => {
                if let Some(open) = self.open.get_mut(&step) {
                    open.handle = Some(handle);
                }
            }
            Entry::End(End { step, result }) => {
                if let Some(open) = self.open.remove(&step) {
                    self.end(snapshot, open, &result);
                    if let (EndResult::Done { identity, node, .. }, Some(run)) = (result, &mut self.run) {
                        run.done.insert(step, identity);
                        run.nodes.insert(step, node);
                    }
                }
            }
            Entry::Settled(Settled { token, result }) => {
                if let Some(open) = self.unsettled.remove(&token) {
                    self.end(snapshot, open, &result);
                }
            }
            // Only a commit ends a run: until then it is resumed, with nothing left to do, and no saved plan from before may begin.
            Entry::RunEnd => {
                let run = self.run.take();
                *self = Self { run, ..Self::default() };
            }
        }
    }

    /// Keeps steps that are open when another plan begins, by their tokens: each plan numbers its steps from
    /// the start.
    fn leave_unsettled(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            if let Some(request) = &open.begin.request {
                self.unsettled.insert(request.token.clone(), open);
            }
        }
    }

    /// A step that begins again, with the same call, keeps what is known of its object.
    fn begin(&mut self, begin: Begin) {
        let token = |begin: &Begin| begin.request.as_ref().map(|request| request.token.clone());
        let before = self.open.remove(&begin.step).filter(|open| token(&open.begin) == token(&begin));
        let (identity, handle) = before.map_or((None, None), |open| (open.identity, open.handle));
        self.open.insert(begin.step, OpenStep { begin, identity, handle });
    }

    fn end(&mut self, snapshot: &mut Snapshot, open: OpenStep, result: &EndResult) {
        if let Some(address) = open.begin.effect.address() {
            match result {
                EndResult::Failed { message, .. } => {
                    self.failed.insert(address.clone(), message.clone());
                }
                EndResult::Done { .. } | EndResult::NotDone => drop(self.failed.remove(address)),
            }
        }
        if let Some(ApplyRequest { ownership, action: Action::Operation { name, arguments, .. }, .. }) =
            &open.begin.request
        {
            take_removal(snapshot, &ownership.address, (name.as_str(), arguments), result);
        }
        take_effect(snapshot, open.begin.effect, result);
    }
}

/// Notes that a machine of a requested roll is removed, at the end of an operation on its pool.
pub(crate) fn take_removal(
    snapshot: &mut Snapshot,
    pool: &Address,
    (name, arguments): (&str, &Value),
    result: &EndResult,
) {
    let is_removal = name == operation::REMOVE && matches!(result, EndResult::Done { .. });
    let machine = arguments.get("member").and_then(Value::as_str).filter(|_| is_removal);
    if let (Some(machine), Some(left)) = (machine, snapshot.rolls.get_mut(pool)) {
        left.remove(&Identity::new(machine));
    }
}

/// Changes the state as the end of a step says.
pub(crate) fn take_effect(snapshot: &mut Snapshot, effect: Effect, result: &EndResult) {
    match (effect, result) {
        (
            Effect::Put { address, mut record, previous },
            EndResult::Done { identity, remembered, as_found, .. },
        ) => {
            if let Some(Value::Map(applied)) = &mut record.applied {
                applied.extend(remembered.clone());
            }
            record.as_found.extend(as_found.clone());
            put(snapshot, &address, *record, previous.as_ref(), identity.clone());
        }
        // The object exists from now on, with other attributes than the desired ones.
        (Effect::Put { address, record, previous }, EndResult::Failed { identity: Some(identity), .. }) => {
            let half = Record { applied: None, ..*record };
            put(snapshot, &address, half, previous.as_ref(), Some(identity.clone()));
        }
        (Effect::Remove { address }, EndResult::Done { .. }) => {
            snapshot.resources.remove(&address);
            snapshot.rolls.remove(&address);
        }
        // A cordon that failed may have had its effect: the mark on the node shows it.
        (Effect::Cordon { node, identity, pool }, EndResult::Done { .. } | EndResult::Failed { .. }) => {
            snapshot.cordoned.insert(node, Cordoned { identity, pool });
        }
        (Effect::Uncordon { node }, EndResult::Done { .. }) => {
            snapshot.cordoned.remove(&node);
        }
        (Effect::RemoveSurplus { address, identity }, EndResult::Done { .. }) => {
            if let Some(record) = snapshot.resources.get_mut(&address) {
                record.deposed.retain(|deposed| *deposed != identity);
            }
            known_again(snapshot, address.kind(), &identity);
        }
        _ => {}
    }
}

fn put(
    snapshot: &mut Snapshot,
    address: &slipway_resource::Address,
    mut record: Record,
    previous: Option<&slipway_resource::Address>,
    identity: Option<Identity>,
) {
    if let Some(identity) = identity {
        record.identity = identity;
    }
    let before = previous.and_then(|previous| snapshot.resources.remove(previous));
    if let Some(left) = previous.and_then(|previous| snapshot.rolls.remove(previous)) {
        // The run that gives the pool this address may have begun with its roll.
        snapshot.rolls.entry(address.clone()).or_insert(left);
    }
    let old = snapshot.resources.remove(address).or(before);
    if !record.existing {
        // What was forgotten at an address without a record is taken over with the record, or is gone. Beside a record, it stays
        // forgotten. An object of others changes nothing.
        let is_over = |objects: &Vec<Identity>| old.is_none() || objects.is_empty();
        if snapshot.forgotten.get(address).is_some_and(is_over) {
            snapshot.forgotten.remove(address);
        }
        known_again(snapshot, address.kind(), &record.identity);
    }
    if let Some(old) = old {
        if old.identity != record.identity {
            // The machines of a new pool are new.
            snapshot.rolls.remove(address);
        }
        record.deposed.extend(old.deposed);
        // An object that was only used is not the cluster's to delete.
        if old.identity != record.identity && !old.existing {
            record.deposed.push(old.identity);
        }
        record.deposed.sort();
        record.deposed.dedup();
        record.deposed.retain(|deposed| *deposed != record.identity);
    }
    snapshot.resources.insert(address.clone(), record);
}

/// An object that has a record, or was deleted, is not forgotten any more, at whichever address that was.
fn known_again(snapshot: &mut Snapshot, kind: &str, identity: &Identity) {
    snapshot.forgotten.retain(|address, objects| {
        // An address without an object says that data is missing there.
        if address.kind() != kind || objects.is_empty() {
            return true;
        }
        objects.retain(|object| object != identity);
        !objects.is_empty()
    });
}

#[cfg(test)]
mod tests;
