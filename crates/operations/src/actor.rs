//! Who it is that does something: named in the head, in the history, and in approvals.

use slipway_state_store::Identity;
use slipway_state_store::process::{self, Process};

/// A person or a robot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// What tells them from others, wherever they work.
    pub person: String,
    /// As `user@host` in messages.
    pub who: String,
}

impl Actor {
    /// Somebody on a host. A person with an `@` says already where they belong.
    #[must_use]
    pub fn new(person: impl Into<String>, host: &str) -> Self {
        let person = person.into();
        let who = if person.contains('@') { person.clone() } else { format!("{person}@{host}") };
        Self { person, who }
    }

    /// Somebody on this host.
    #[must_use]
    pub fn here(person: impl Into<String>) -> Self {
        Self::new(person, &process::host())
    }

    /// This process, doing `operation` for them.
    #[must_use]
    pub fn doing(&self, operation: &str) -> Identity {
        Identity { who: self.who.clone(), operation: operation.to_owned(), process: Process::current() }
    }
}
