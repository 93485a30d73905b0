//! Keys, writers and order of segments, as pure functions without I/O.
//!
//! One create-if-absent decides every conflict: a sequence belongs to the writer that creates it. The holder
//! appends at the end, and its successor creates the seal at the end. The later one of the two finds the key
//! taken.

use super::segment::{Place, Segment};
use crate::digest::Digest;
use crate::head::{Head, JournalStart};
use crate::name::{Epoch, Sequence};

/// The end of the journal, as its one writer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct End(JournalStart);

impl End {
    pub(crate) fn new(start: JournalStart) -> Self {
        Self(start)
    }

    /// The first segment that is not written yet.
    pub(crate) fn start(self) -> JournalStart {
        self.0
    }

    /// The place of the next segment.
    pub(crate) fn place(self) -> Place {
        let JournalStart { epoch, sequence, previous } = self.0;
        Place { epoch, sequence, previous }
    }

    /// Records that the next segment is stored.
    pub(crate) fn written(&mut self, digest: Digest) {
        self.0.sequence = self.0.sequence.next();
        self.0.previous = Some(digest);
    }
}

/// The writer that ended the epoch, when an append finds its place taken. The epoch has one writer, so the
/// found segment is the seal or foreign, and the writer never continues after it.
pub(crate) fn replaced_by(found: Segment) -> String {
    found.seal.map_or_else(|| "another writer of the same epoch".to_owned(), |seal| seal.who)
}

/// Every epoch that may be unsealed when `before` was taken over: those that its snapshot does not include,
/// the oldest first. The epochs after an unsealed one are then always empty.
pub(crate) fn unsealed(before: &Head) -> impl Iterator<Item = JournalStart> {
    let start = before.journal_from;
    let epochs = (start.epoch.0..=before.epoch.0).map(Epoch);
    epochs.map(move |epoch| if epoch == start.epoch { start } else { JournalStart::of(epoch) })
}

/// Ends one epoch: creates a seal after the last segment, and retries when another segment is created first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sealing {
    /// The place of the seal; `None` when there is one.
    place: Option<Place>,
}

impl Sealing {
    /// Begins after `last`, the last segment of the epoch that is not before `start`.
    pub(crate) fn new(start: JournalStart, last: Option<(Sequence, &Segment)>) -> Self {
        let mut sealing = Self { place: Some(End::new(start).place()) };
        if let Some((sequence, segment)) = last {
            sealing.place = Some(Place { sequence, ..End::new(start).place() });
            sealing.taken(segment);
        }
        sealing
    }

    /// The place where the seal is to be created next; `None` when the epoch is sealed.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }

    /// The place was taken by a valid segment, or by a seal.
    pub(crate) fn taken(&mut self, found: &Segment) {
        self.place = match (self.place, &found.seal) {
            (Some(place), None) => {
                Some(Place { sequence: place.sequence.next(), previous: Some(found.digest), ..place })
            }
            _ => None,
        };
    }
}

/// Follows one epoch's segments as they are read, and detects missing, repeated and foreign ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    next: Sequence,
    previous: Option<Digest>,
    is_sealed: bool,
}

impl Chain {
    pub(crate) fn new(from: JournalStart) -> Self {
        Self { next: from.sequence, previous: from.previous, is_sealed: false }
    }

    #[cfg(test)]
    /// The epoch ends with a seal.
    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// Checks the next segment, or says why it does not follow.
    pub(crate) fn follow(&mut self, sequence: Sequence, segment: &Segment) -> Result<(), String> {
        if sequence != self.next {
            return Err(format!("segment {} before it is missing", self.next));
        }
        if self.is_sealed {
            return Err("it follows the seal of its epoch".to_owned());
        }
        if segment.previous != self.previous {
            return Err("it does not follow the segment before it".to_owned());
        }
        *self =
            Self { next: sequence.next(), previous: Some(segment.digest), is_sealed: segment.seal.is_some() };
        Ok(())
    }
}
