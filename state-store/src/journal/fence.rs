//! Keys, writers and order of segments, as pure functions without I/O.
//!
//! One create-if-absent decides every conflict: a sequence belongs to the writer that creates it. The holder
//! appends at the end, and its successor creates the seal at the end. The later one of the two finds the key
//! taken.

use slipway_limits::count;

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

/// Every epoch that may be unsealed when `before` was taken over, the oldest first: those that its snapshot does not include,
/// without those before `newest`, the newest epoch with segments. Holders seal the oldest epoch first, and append only after
/// that, so all epochs before one with segments are sealed.
pub(crate) fn unsealed(before: &Head, newest: Option<Epoch>) -> impl Iterator<Item = JournalStart> {
    let start = before.journal_from;
    let epochs = (first(before, newest).0..=before.epoch.0).map(Epoch);
    epochs.map(move |epoch| if epoch == start.epoch { start } else { JournalStart::of(epoch) })
}

/// The reason why the epoch of a head is wrong, if it is: no cluster is taken over this often without a seal. `newest` is the
/// newest epoch with segments.
pub(crate) fn unreached(head: &Head, newest: Option<Epoch>) -> Option<String> {
    let takeovers = head.epoch.0.saturating_sub(first(head, newest).0);
    (takeovers > count::EPOCHS).then(|| {
        format!(
            "its epoch {} is {takeovers} takeovers after the last one that the journal shows, and at most {} are possible",
            head.epoch,
            count::EPOCHS
        )
    })
}

fn first(head: &Head, newest: Option<Epoch>) -> Epoch {
    newest.map_or(head.journal_from.epoch, |newest| newest.max(head.journal_from.epoch))
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

/// Follows the segments of all epochs as they are read, in order, and detects an earlier epoch without a seal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Epochs {
    epoch: Epoch,
    chain: Chain,
}

impl Epochs {
    pub(crate) fn new(from: JournalStart) -> Self {
        Self { epoch: from.epoch, chain: Chain::new(from) }
    }

    /// Checks the next segment, or says why it does not follow.
    pub(crate) fn follow(
        &mut self,
        epoch: Epoch,
        sequence: Sequence,
        segment: &Segment,
    ) -> Result<(), String> {
        if epoch != self.epoch {
            let is_next = epoch == self.epoch.next();
            if !(self.chain.is_sealed && is_next) {
                let before = if self.chain.is_sealed { self.epoch.next() } else { self.epoch };
                return Err(format!("epoch {epoch} has segments, and epoch {before} before it has no seal"));
            }
            *self = Self::new(JournalStart::of(epoch));
        }
        self.chain.follow(sequence, segment)
    }
}

/// Follows one epoch's segments as they are read, and detects missing, repeated and foreign ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chain {
    next: Sequence,
    previous: Option<Digest>,
    is_sealed: bool,
}

impl Chain {
    fn new(from: JournalStart) -> Self {
        Self { next: from.sequence, previous: from.previous, is_sealed: false }
    }

    /// Checks the next segment, or says why it does not follow.
    fn follow(&mut self, sequence: Sequence, segment: &Segment) -> Result<(), String> {
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
