//! Where segments go, who may write them, and in which order they are read: pure, with no word about how.
//!
//! One create-if-absent decides everything: a sequence belongs to whoever creates it. The holder appends at the end,
//! its successor creates the seal at the end, and the one who comes second finds the place taken.

use super::segment::{Place, Segment};
use crate::digest::Digest;
use crate::head::{Head, JournalStart};
use crate::name::{Epoch, Sequence};

/// The end of the journal that its one writer knows of.
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

    /// Where the next segment goes.
    pub(crate) fn place(self) -> Place {
        let JournalStart { epoch, sequence, previous } = self.0;
        Place { epoch, sequence, previous }
    }

    /// The next segment is stored.
    pub(crate) fn written(&mut self, digest: Digest) {
        self.0.sequence = self.0.sequence.next();
        self.0.previous = Some(digest);
    }
}

/// Who ended the epoch, when an append finds its place taken. The writer is the only one of its epoch: what is there is
/// the seal, or somebody else's doing, and it never goes on behind it.
pub(crate) fn replaced_by(found: Segment) -> String {
    found.seal.map_or_else(|| "another writer of the same epoch".to_owned(), |seal| seal.who)
}

/// Every epoch that may not be sealed when `before` was taken over: those that its snapshot does not include, the
/// oldest first, so that what follows an unsealed epoch is always empty.
pub(crate) fn unsealed(before: &Head) -> impl Iterator<Item = JournalStart> {
    let start = before.journal_from;
    let epochs = (start.epoch.0..=before.epoch.0).map(Epoch);
    epochs.map(move |epoch| if epoch == start.epoch { start } else { JournalStart::of(epoch) })
}

/// Ends one epoch: creates a seal behind the last segment, as often as another one gets there first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sealing {
    /// Where the seal goes; nowhere when there is one.
    place: Option<Place>,
}

impl Sealing {
    /// Begins behind `last`, the last segment of the epoch that is not before `start`.
    pub(crate) fn new(start: JournalStart, last: Option<(Sequence, &Segment)>) -> Self {
        let mut sealing = Self { place: Some(End::new(start).place()) };
        if let Some((sequence, segment)) = last {
            sealing.place = Some(Place { sequence, ..End::new(start).place() });
            sealing.taken(segment);
        }
        sealing
    }

    /// Where the seal is to be created next; nothing when the epoch is sealed.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }

    /// The place was taken by a segment, which counts; or by a seal.
    pub(crate) fn taken(&mut self, found: &Segment) {
        self.place = match (self.place, &found.seal) {
            (Some(place), None) => {
                Some(Place { sequence: place.sequence.next(), previous: Some(found.digest), ..place })
            }
            _ => None,
        };
    }
}

/// Follows one epoch's segments as they are read, and notices when one is missing, doubled or foreign.
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

    /// Takes in the next segment, or says what does not fit.
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
