//! The journal as a whole: each epoch a chain, each earlier one sealed.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Finding, Mend};
use crate::backend::{self, Key};
use crate::digest::Digest;
use crate::error::Result;
use crate::head::Head;
use crate::journal::segment;
use crate::layout;
use crate::name::{Epoch, Sequence};

/// The facts about a segment that the check of the chain needs.
pub(super) struct Seen {
    key: Key,
    epoch: Epoch,
    sequence: Sequence,
    previous: Option<Digest>,
    digest: Digest,
    /// The epoch of the holder who wrote it as a seal.
    sealed_by: Option<Epoch>,
}

impl Seen {
    pub(super) fn read(key: &Key, bytes: &Bytes) -> Result<Self> {
        let place = layout::epoch(key).zip(layout::sequence(key));
        let (epoch, sequence) = place.ok_or_else(|| backend::Error::corrupt(key, "it is not a segment"))?;
        let segment = segment::decode(key, epoch, sequence, bytes)?;
        let sealed_by = segment.seal.map(|seal| seal.by);
        let (previous, digest) = (segment.previous, segment.digest);
        Ok(Self { key: key.clone(), epoch, sequence, previous, digest, sealed_by })
    }

    /// Whether it shows that a head of this epoch is an old one.
    pub(super) fn ends(&self, epoch: Epoch) -> bool {
        self.epoch == epoch && self.sealed_by.is_some_and(|by| by > epoch)
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }
}

/// Whether the present state needs a segment.
pub(super) fn is_needed(head: &Head, key: &Key) -> bool {
    let start = head.journal_from;
    let place = layout::epoch(key).zip(layout::sequence(key));
    !head.deleted && place.is_none_or(|place| place >= (start.epoch, start.sequence))
}

/// Checks that nothing is missing between segments, and that every earlier epoch is sealed.
pub(super) fn relations(head: &Head, segments: &[Seen], findings: &mut Vec<Finding>) {
    let mut epochs: BTreeMap<Epoch, Vec<&Seen>> = BTreeMap::new();
    for seen in segments {
        epochs.entry(seen.epoch).or_default().push(seen);
    }
    for (epoch, mut segments) in epochs {
        segments.sort_by_key(|seen| seen.sequence);
        let mut add = |seen: &Seen, problem: String| {
            let mend = if is_needed(head, &seen.key) { Mend::Rebuild } else { Mend::Past };
            findings.push(Finding { key: seen.key.to_string(), problem, mend });
        };
        if let Some(first) = segments.first().filter(|first| first.epoch == head.journal_from.epoch) {
            let start = head.journal_from.sequence;
            if first.sequence > start && !head.deleted {
                add(first, format!("segment {start} before it is missing"));
            }
        }
        for pair in segments.windows(2) {
            let [before, after] = pair else { continue };
            if after.sequence != before.sequence.next() {
                // Of what the snapshot includes, all but the seal may be gone.
                if is_needed(head, &after.key) && is_needed(head, &before.key) {
                    add(after, format!("segment {} before it is missing", before.sequence.next()));
                }
            } else if after.previous != Some(before.digest) {
                add(after, "it does not follow the segment before it".to_owned());
            } else if before.sealed_by.is_some() {
                add(after, "it follows the seal of its epoch".to_owned());
            }
        }
        if let Some(last) = segments.last().filter(|last| epoch < head.epoch && last.sealed_by.is_none()) {
            add(last, format!("epoch {epoch} is over, and has no seal"));
        }
    }
}
