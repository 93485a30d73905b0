//! The object store, as any backend behaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::head::{Head, JournalStart, SnapshotRef};
use crate::journal::fence::Epochs;
use crate::journal::segment::Segment;
use crate::name::{Epoch, Sequence};
use crate::write::put;

use super::mutation::Mutation;

/// The version of a head: the number of its write.
pub(super) type Tag = u8;

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Head(Arc<Head>),
    Segment(Arc<Segment>),
}

/// The place of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Head,
    Segment(Epoch, Sequence),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Get(Slot),
    Create(Slot, Value),
    /// Updates the head.
    Update(Value, Tag),
    /// The last segment of an epoch: a listing, and a read of an immutable object.
    Last(JournalStart),
}

impl Request {
    pub(super) fn is_write(&self) -> bool {
        matches!(self, Self::Create(..) | Self::Update(..))
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    Put(put::Answer<Value, Tag>),
    Last(Option<(Sequence, Arc<Segment>)>),
}

/// The objects of one cluster. Snapshots are immutable, and their name is their content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) head: Option<(Arc<Head>, Tag)>,
    pub(super) segments: BTreeMap<(Epoch, Sequence), Arc<Segment>>,
    /// A change of the head that must never occur.
    pub(super) violation: Option<&'static str>,
}

impl Store {
    /// Carries out a request.
    pub(super) fn effect(&mut self, request: &Request, mutation: Option<Mutation>) -> Answer {
        Answer::Put(match request {
            Request::Last(start) => {
                let of_epoch = (start.epoch, start.sequence)..(start.epoch.next(), Sequence(0));
                let last = self.segments.range(of_epoch).next_back();
                return Answer::Last(last.map(|((_, sequence), segment)| (*sequence, segment.clone())));
            }
            Request::Get(slot) => match self.get(*slot) {
                Some((value, tag)) => put::Answer::Found(value, tag),
                None => put::Answer::Absent,
            },
            Request::Create(slot, value) => {
                let may_overwrite = mutation == Some(Mutation::AppendOverwrites) && *slot != Slot::Head;
                if self.get(*slot).is_some() && !may_overwrite {
                    put::Answer::Refused
                } else {
                    put::Answer::Written(self.put(*slot, value))
                }
            }
            Request::Update(value, expected) => {
                let is_current = self.head.as_ref().is_some_and(|(_, tag)| tag == expected);
                if is_current || mutation == Some(Mutation::CommitWithoutSwap) {
                    put::Answer::Written(self.put(Slot::Head, value))
                } else {
                    put::Answer::Refused
                }
            }
        })
    }

    fn get(&self, slot: Slot) -> Option<(Value, Tag)> {
        match slot {
            Slot::Head => self.head.as_ref().map(|(head, tag)| (Value::Head(head.clone()), *tag)),
            Slot::Segment(epoch, sequence) => {
                let segment = self.segments.get(&(epoch, sequence))?;
                Some((Value::Segment(segment.clone()), 0))
            }
        }
    }

    fn put(&mut self, slot: Slot, value: &Value) -> Tag {
        match (slot, value) {
            (Slot::Head, Value::Head(next)) => {
                if let Some((before, _)) = &self.head {
                    self.violation = self.violation.or_else(|| wrong_change(before, next));
                }
                let tag = self.head.as_ref().map_or(0, |(_, tag)| *tag) + 1;
                self.head = Some((next.clone(), tag));
                tag
            }
            (Slot::Segment(epoch, sequence), Value::Segment(segment)) => {
                self.segments.insert((epoch, sequence), segment.clone());
                0
            }
            _ => unreachable!("a head is not a segment"),
        }
    }

    /// The records that a reader finds: those of the snapshot, and those of the journal since.
    pub(super) fn read(&self) -> Result<Vec<String>, String> {
        let Some((head, _)) = &self.head else { return Ok(Vec::new()) };
        let mut records = head.snapshot.as_ref().map(included).unwrap_or_default();
        let (start, mut epochs) = (head.journal_from, Epochs::new(head.journal_from));
        let since = (start.epoch, start.sequence)..(head.epoch.next(), Sequence(0));
        for ((epoch, sequence), segment) in self.segments.range(since) {
            epochs.follow(*epoch, *sequence, segment)?;
            records.extend(texts(segment));
        }
        Ok(records)
    }

    /// The newest epoch with segments, up to this one.
    pub(super) fn newest(&self, last: Epoch) -> Option<Epoch> {
        self.segments.keys().map(|(epoch, _)| *epoch).filter(|epoch| *epoch <= last).max()
    }

    /// Whether an epoch has segments after its seal.
    pub(super) fn goes_on_behind_a_seal(&self) -> bool {
        let mut pairs = self.segments.iter().zip(self.segments.iter().skip(1));
        pairs.any(|(((epoch, _), segment), ((next, _), _))| epoch == next && segment.seal.is_some())
    }
}

/// Describes a forbidden change of a head.
fn wrong_change(before: &Head, next: &Head) -> Option<&'static str> {
    if next.epoch < before.epoch || next.epoch > before.epoch.next() {
        return Some("the epoch does not go on from the one before");
    }
    if next.generation < before.generation || next.generation > before.generation.next() {
        return Some("the generation does not go on from the one before");
    }
    // A process puts its name into the salt of each head that it makes.
    let holder = |head: &Head| head.holder.as_ref().map(|holder| holder.who.clone());
    let is_by = |head: &Head| holder(head).is_some_and(|name| next.salt.starts_with(&name));
    if next.epoch == before.epoch && !is_by(before) {
        return Some("somebody changes it who does not hold it");
    }
    if next.epoch > before.epoch && !is_by(next) {
        return Some("somebody takes it for another one");
    }
    if next.epoch > before.epoch && next.generation != before.generation {
        return Some("a commit of somebody who takes the cluster only now");
    }
    None
}

/// The reference to a snapshot of these records.
pub(super) fn snapshot(records: &[String]) -> SnapshotRef {
    let key = records.join(",");
    SnapshotRef { digest: crate::Digest::of(key.as_bytes()), size: key.len() as u64, key }
}

/// The records that a snapshot has.
fn included(snapshot: &SnapshotRef) -> Vec<String> {
    snapshot.key.split(',').filter(|record| !record.is_empty()).map(str::to_owned).collect()
}

fn texts(segment: &Segment) -> impl Iterator<Item = String> + '_ {
    segment.records.iter().map(|record| String::from_utf8_lossy(record).into_owned())
}
