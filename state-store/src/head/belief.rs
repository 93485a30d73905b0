//! What a holder takes for the head, and how that changes: a pure state machine.

use super::Head;
use super::protocol::{self, Event, Hold, Refusal};
use crate::write::put::Outcome;

/// The head as its holder last saw it, with the version that the next write replaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Belief<T> {
    head: Head,
    tag: T,
}

impl<T> Belief<T> {
    pub(crate) fn new(head: Head, tag: T) -> Self {
        Self { head, tag }
    }

    /// The head.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The version that a write replaces.
    pub(crate) fn tag(&self) -> &T {
        &self.tag
    }

    /// The head that `event` would make.
    pub(crate) fn propose(&self, hold: &Hold, event: &Event, salt: String) -> Result<Head, Refusal> {
        protocol::apply(&self.head, hold, event, salt)
    }

    /// Takes in what became of a proposal: whether it is stored. When it is not, the head is another one by now, and
    /// the event is to be proposed again.
    pub(crate) fn settle(&mut self, proposed: &Head, outcome: Outcome<Head, T>) -> bool {
        let (head, tag, is_stored) = match outcome {
            Outcome::Written(tag) => (proposed.clone(), tag, true),
            Outcome::Taken { value, tag } => (value, tag, false),
        };
        *self = Self { head, tag };
        is_stored
    }
}
