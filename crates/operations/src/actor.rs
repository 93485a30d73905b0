//! The person or program that changes a cluster: named in the head, in the history, and in approvals.

use slipway_limits::text::is_hidden;
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
    /// An actor on a host. A name with an `@` already contains its domain. Spaces around the name, and characters that are not
    /// seen, are removed; capital letters do not distinguish persons.
    #[must_use]
    pub fn new(person: impl Into<String>, host: &str) -> Self {
        let is_shown = |letter: &char| !is_hidden(*letter) && !matches!(letter, '\n' | '\t');
        let name: String = person.into().chars().filter(is_shown).collect();
        let name = match name.trim() {
            "" => "unknown",
            name => name,
        };
        let who = if name.contains('@') { name.to_owned() } else { format!("{name}@{host}") };
        Self { person: name.to_lowercase(), who }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_has_one_name() {
        let person = |name: &str| Actor::new(name, "laptop").person;
        for name in ["x@vm", "X@vm", " x@vm", "x@vm\u{200b}", "x@\nvm"] {
            assert_eq!(person(name), "x@vm", "{name:?}");
        }
        assert_eq!(Actor::new("Ada\n1  FAKE", "laptop").who, "Ada1  FAKE@laptop");
        assert_eq!(Actor::new(" ", "laptop").who, "unknown@laptop");
    }
}
