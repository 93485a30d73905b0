//! The journal read back: pure, and the same as what the run itself did to its state.

use std::collections::BTreeMap;

use slipway_plan::{Record, Snapshot, StepId};
use slipway_resource::{Digest, Identity};

use crate::journal::{Begin, Effect, End, EndResult, Entry, RunBegin};

/// A step that began and did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenStep {
    /// How it began.
    pub begin: Begin,
    /// The object, when its name was known.
    pub identity: Option<Identity>,
    /// The handle, when there was one.
    pub handle: Option<String>,
}

/// A run that did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRun {
    /// Its plan.
    pub plan: Digest,
    /// The epoch in which it was begun first.
    pub epoch: u64,
    /// Its steps that are done, with the object each has left.
    pub done: BTreeMap<StepId, Option<Identity>>,
}

/// What the journal adds to the snapshot.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// The run that was not ended, if any.
    pub run: Option<OpenRun>,
    /// Steps that began and did not end, in their order.
    pub open: BTreeMap<StepId, OpenStep>,
}

impl Replayed {
    /// Takes the next entry.
    pub fn apply(&mut self, snapshot: &mut Snapshot, entry: Entry) {
        match entry {
            Entry::RunBegin(RunBegin { plan, epoch, spec }) => {
                snapshot.spec = spec;
                snapshot.spec_digest = None;
                let resumed = self.run.as_ref().is_some_and(|run| run.plan == plan && run.epoch == epoch);
                if !resumed {
                    self.run = Some(OpenRun { plan, epoch, done: BTreeMap::new() });
                }
            }
            Entry::Begin(begin) => {
                self.open.insert(begin.step, OpenStep { begin: *begin, identity: None, handle: None });
            }
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
                    take_effect(snapshot, open.begin.effect, &result);
                    if let (EndResult::Done { identity }, Some(run)) = (result, &mut self.run) {
                        run.done.insert(step, identity);
                    }
                }
            }
            Entry::RunEnd => *self = Self::default(),
        }
    }
}

/// Changes the state as a step's end says.
pub(crate) fn take_effect(snapshot: &mut Snapshot, effect: Effect, result: &EndResult) {
    match (effect, result) {
        (Effect::Put { address, record, previous }, EndResult::Done { identity }) => {
            put(snapshot, &address, *record, previous.as_ref(), identity.clone());
        }
        // Half made: known from now on, and not as it was asked for.
        (Effect::Put { address, record, previous }, EndResult::Failed { identity: Some(identity), .. }) => {
            let half = Record { applied: None, ..*record };
            put(snapshot, &address, half, previous.as_ref(), Some(identity.clone()));
        }
        (Effect::Remove { address }, EndResult::Done { .. }) => {
            snapshot.resources.remove(&address);
        }
        (Effect::RemoveSurplus { address, identity }, EndResult::Done { .. }) => {
            if let Some(record) = snapshot.resources.get_mut(&address) {
                record.deposed.retain(|deposed| *deposed != identity);
            }
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
    if let Some(old) = snapshot.resources.remove(address).or(before) {
        record.deposed.extend(old.deposed);
        if old.identity != record.identity {
            record.deposed.push(old.identity);
        }
        record.deposed.sort();
        record.deposed.dedup();
        record.deposed.retain(|deposed| *deposed != record.identity);
    }
    snapshot.resources.insert(address.clone(), record);
}
