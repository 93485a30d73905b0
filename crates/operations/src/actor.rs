//! The person or program that changes a cluster: named in the head, in the history, and in approvals.

use slipway_state_store::Identity;
use slipway_state_store::process::{self, Process};

/// A person or a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The name that is unique across hosts.
    pub person: String,
    /// As `user@host` in messages.
    pub who: String,
}

impl Actor {
    /// An actor on a host. A name with an `@` already contains its domain and is used as it is.
    #[must_use]
    pub fn new(person: impl Into<String>, host: &str) -> Self {
        let person = person.into();
        let who = if person.contains('@') { person.clone() } else { format!("{person}@{host}") };
        Self { person, who }
    }

    /// An actor on this host.
    #[must_use]
    pub fn here(person: impl Into<String>) -> Self {
        Self::new(person, &process::host())
    }

    /// This process, which runs `operation` for the actor.
    #[must_use]
    pub fn doing(&self, operation: &str) -> Identity {
        Identity { who: self.who.clone(), operation: operation.to_owned(), process: Process::current() }
    }
}
