//! The holder's knowledge of the head: a pure state machine.

use super::Head;
use super::protocol::{self, Event, Hold, Refusal};
use crate::name::Generation;
use crate::write::put::Outcome;

/// The head as its holder last saw it, with the version that the next write replaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Belief<T> {
    head: Head,
    tag: T,
    /// The generation of the head that this holder wrote last.
    own: Generation,
}

impl<T> Belief<T> {
    pub(crate) fn new(head: Head, tag: T) -> Self {
        let own = head.generation;
        Self { head, tag, own }
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
        protocol::apply(&self.head, hold, event, salt).map_err(|refusal| match refusal {
            // The next holder has released the cluster since. A commit that this holder did not make names
            // it.
            Refusal::Lost { by: None } if self.head.generation > self.own => {
                Refusal::Lost { by: self.head.last_commit.as_ref().map(|commit| commit.who.clone()) }
            }
            refusal => refusal,
        })
    }

    /// Takes in what became of a proposal: whether it is stored. When it is not, the head is another one by now, and
    /// the event is to be proposed again.
    pub(crate) fn settle(&mut self, proposed: &Head, outcome: Outcome<Head, T>) -> bool {
        let (head, tag, is_stored) = match outcome {
            Outcome::Written(tag) => (proposed.clone(), tag, true),
            Outcome::Taken { value, tag } => (value, tag, false),
        };
        let own = if is_stored { head.generation } else { self.own };
        *self = Self { head, tag, own };
        is_stored
    }
}
