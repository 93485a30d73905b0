//! The work of a process: at most one request for the head, and one for the journal.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::digest::Digest;
use crate::head::protocol::Event;
use crate::head::{Head, JournalStart};
use crate::journal::fence::Sealing;
use crate::journal::segment::{Place, Seal, Segment};
use crate::write::put::{self, Put};

use super::store::{Answer, Request, Slot, Tag, Value};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    Head,
    Journal,
}

/// Why a request was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// A contender looks at the head.
    Look { asked: Duration },
    /// A contender swaps the head.
    Swap { put: Put<Value>, expected: Option<Tag>, before: Option<Arc<Head>>, sent: Duration },
    /// A new holder looks for the end of an epoch.
    Last { start: JournalStart },
    /// A new holder seals it.
    Seal { put: Put<Value>, sealing: Sealing },
    /// A holder appends.
    Append { put: Put<Value>, place: Place, record: String },
    /// A holder changes the head.
    Change { put: Put<Value>, expected: Tag, event: Event, sent: Duration },
}

/// A request, and its answer once there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flight {
    pub(super) work: Work,
    pub(super) request: Request,
    pub(super) answer: Option<Answer>,
}

impl Flight {
    /// Sends what a piece of work asks for next.
    pub(super) fn new(work: Work) -> Self {
        let request = match &work {
            Work::Look { .. } => Request::Get(Slot::Head),
            Work::Last { start } => Request::Last(*start),
            Work::Swap { put, expected, .. } => of_put(put, Slot::Head, *expected),
            Work::Change { put, expected, .. } => of_put(put, Slot::Head, Some(*expected)),
            Work::Seal { put, sealing } => {
                let place = sealing.place().expect("a seal has a place");
                of_put(put, Slot::Segment(place.epoch, place.sequence), None)
            }
            Work::Append { put, place, .. } => of_put(put, Slot::Segment(place.epoch, place.sequence), None),
        };
        Self { work, request, answer: None }
    }
}

fn of_put(put: &Put<Value>, slot: Slot, expected: Option<Tag>) -> Request {
    match (put.request(), expected) {
        (put::Request::Read, _) => Request::Get(slot),
        (put::Request::Write, None) => Request::Create(slot, put.value().clone()),
        (put::Request::Write, Some(tag)) => Request::Update(put.value().clone(), tag),
    }
}

/// A segment with a record, or the seal. Its digest represents its bytes and their place.
pub(super) fn segment(place: Place, record: Option<&str>, seal: Option<Seal>, nonce: &str) -> Arc<Segment> {
    let digest = Digest::of(format!("{}/{}/{nonce}", place.epoch, place.sequence).as_bytes());
    let records = record.iter().map(|record| Bytes::copy_from_slice(record.as_bytes())).collect();
    Arc::new(Segment { previous: place.previous, seal, records, digest })
}
