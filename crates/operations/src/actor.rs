//! The person or program that changes a cluster: named in the head, in the history, and in approvals.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use slipway_limits::text::is_hidden;
use slipway_state_store::Identity;
use slipway_state_store::process::{self, Process};

use crate::error::Error;

/// A person or a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The name that is unique across hosts: without the host, and with the domain of an e-mail address.
    pub person: String,
    /// As `user@host` in messages.
    pub who: String,
}

impl Actor {
    /// An actor on a host. A name with an `@` already contains its host or its domain: `ada@laptop` is the person `ada`, and
    /// `ada@example.com`, whose domain has a dot, is an e-mail address and stays whole. Spaces around the name, and characters
    /// that are not seen, are removed; capital letters, accents and other forms of one letter do not distinguish persons.
    ///
    /// # Errors
    /// [`Error::AmbiguousActor`] when the name has letters other than those of ASCII, which can look like the name of somebody
    /// else, and when it is neither an account name nor a plain e-mail address.
    pub fn new(person: impl Into<String>, host: &str) -> Result<Self, Error> {
        let is_shown = |letter: &char| !is_hidden(*letter) && !matches!(letter, '\n' | '\t');
        let name: String = person.into().chars().filter(is_shown).collect();
        let name = ComposingNormalizerBorrowed::new_nfkc().normalize(name.trim()).into_owned();
        let name = if name.is_empty() { "unknown".to_owned() } else { name };
        let Some(person) = person_of(&name) else {
            return Err(Error::AmbiguousActor { name });
        };
        let who = if name.contains('@') { name } else { format!("{name}@{host}") };
        Ok(Self { person, who })
    }

    /// An actor on this host.
    ///
    /// # Errors
    /// As [`Actor::new`].
    pub fn here(person: impl Into<String>) -> Result<Self, Error> {
        Self::new(person, &process::host())
    }

    /// Whether `who` is this actor on any host, as in the head of a state. The name of a host may have dots, as the domain of an e-mail
    /// address has: `slipway@node-1.example.com` is the actor `slipway`.
    #[must_use]
    pub fn is_named(&self, who: &str) -> bool {
        let is_same = |name: &str| person_of(name).is_some_and(|person| person == self.person);
        is_same(who) || who.split_once('@').is_some_and(|(user, _)| is_same(user))
    }

    /// This process, which runs `operation` for the actor.
    #[must_use]
    pub fn doing(&self, operation: &str) -> Identity {
        Identity { who: self.who.clone(), operation: operation.to_owned(), process: Process::current() }
    }
}

/// The form of a name in which persons are compared: ASCII, in small letters, without accents, and without a host. `None` for a
/// name with other letters, and for one that is neither an account name nor a plain e-mail address.
#[must_use]
pub fn person_of(name: &str) -> Option<String> {
    let is_accent = |letter: &char| ('\u{300}'..='\u{36f}').contains(letter);
    let parts = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let person: String = parts.chars().filter(|letter| !is_accent(letter)).collect();
    if person.chars().any(|letter| !letter.is_ascii() || letter.is_ascii_control()) {
        return None;
    }
    let person = without_host(person.trim());
    // As winbind names users of a domain: `EXAMPLE\ada`.
    let person = person.rsplit_once('\\').map_or(person, |(_, user)| user);
    is_plain(person).then(|| person.to_ascii_lowercase())
}

/// Whether a name is that of an account, or an e-mail address without a comment, quotes or a displayed name: mail servers deliver
/// `"ada"@example.com` and `ada(work)@example.com` to one mailbox.
fn is_plain(person: &str) -> bool {
    // As forges name accounts of programs: `renovate[bot]`.
    let name = person.replacen("[bot]", "", 1);
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-+@".contains(letter);
    name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && name.chars().all(is_letter)
        && name.matches('@').count() <= 1
}

/// A name without the hosts at its end. The domain of an e-mail address has a dot and is no host.
fn without_host(name: &str) -> &str {
    let mut person = name;
    while let Some((user, host)) = person.rsplit_once('@') {
        if user.is_empty() || host.contains('.') {
            break;
        }
        person = user.trim_end();
    }
    person
}

/// The part of a person before the `@`, without dots and without what follows a `+`: many mail servers deliver
/// `ada+ci@example.com` and `a.da@example.com` to the mailbox of `ada@example.com`. Two persons who have it in common may be one, and
/// never count as two.
#[must_use]
pub fn account_of(person: &str) -> String {
    let local = match person.split_once('@') {
        Some((account, _)) if !account.trim_end().is_empty() => account.trim_end(),
        _ => person,
    };
    let local_part = local.split('+').next().unwrap_or_default().trim_end();
    let mailbox: String = local_part.chars().filter(|letter| *letter != '.').collect();
    if mailbox.is_empty() { local.to_owned() } else { mailbox }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_the_same_on_every_host() {
        let actor = Actor::new("slipway", "node-1.example.com").unwrap();
        for who in [actor.who.as_str(), "slipway@node-2.example.com", "slipway@node-1", "slipway"] {
            assert!(actor.is_named(who), "{who}");
        }
        for who in ["ada@node-1.example.com", "ada", "slipway-2@node-1"] {
            assert!(!actor.is_named(who), "{who}");
        }
        let mail = Actor::new("slipway@example.com", "node-1").unwrap();
        assert!(mail.is_named(&mail.who) && !mail.is_named("slipway@node-1"));
    }

    #[test]
    fn one_person_has_one_name() {
        let person = |name: &str| Actor::new(name, "laptop").unwrap().person;
        for name in
            ["x@vm", "X@vm", " x@vm", "x@vm\u{200b}", "x@\nvm", "\u{202e}x@vm", "\u{ff58}@vm", "x\u{301}@vm"]
        {
            assert_eq!(person(name), "x", "{name:?}");
        }
        for (name, expected) in [
            ("ada@", "ada"),
            ("ada@laptop", "ada"),
            ("ada@laptop@ci", "ada"),
            ("ada @laptop", "ada"),
            ("ada@example.com", "ada@example.com"),
            ("ada@example.com@ci", "ada@example.com"),
            ("EXAMPLE\\Ada", "ada"),
            ("renovate[bot]", "renovate[bot]"),
            ("41898282+ci[bot]@users.example.com", "41898282+ci[bot]@users.example.com"),
        ] {
            assert_eq!(person(name), expected, "{name}");
        }
        assert_eq!(person("Jos\u{e9}"), person("Jose\u{301}"));
        let who = |name: &str| Actor::new(name, "laptop").unwrap().who;
        assert_eq!(who("Ada\n1FAKE"), "Ada1FAKE@laptop");
        assert_eq!(who("\u{ff21}da"), "Ada@laptop");
        assert_eq!(who(" "), "unknown@laptop");
    }

    #[test]
    fn persons_with_one_account_may_be_one() {
        for person in ["ada", "ada@example.com", "ada @example.org", "ada@x@y.z"] {
            assert_eq!(account_of(person), "ada", "{person}");
        }
        for person in
            ["ada+ci", "ada +ci@example.com", "ada+@example.com", "a.da@example.com", "a.d.a+x+y@example.org"]
        {
            assert_eq!(account_of(person), "ada", "{person}");
            assert_ne!(
                person_of(person).as_deref(),
                Some("ada@example.com"),
                "{person} is no approver of that name"
            );
        }
        for person in ["@ada", "+ci", "..."] {
            assert_eq!(account_of(person), person);
        }
    }

    #[test]
    fn a_name_that_is_no_account_and_no_plain_address_is_refused() {
        for name in [
            "\"ada\"@example.com",
            "ada(c)@example.com",
            "Ada <ada@example.com>",
            "mailto:ada@example.com",
            "Ada Lovelace",
            "ada @example.com",
            "ada'",
            "@ada",
            "+ada@example.com",
            "ada@example.com@example.org",
            "ada,eve",
            ".",
        ] {
            let refused = Actor::new(name, "laptop").unwrap_err();
            assert_eq!(refused.code(), Some("RUN0041"), "{name}");
            assert!(refused.to_string().contains("is no account name"), "{refused}");
            assert_eq!(person_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_that_looks_like_another_is_refused() {
        // Cyrillic, Greek, a dotless i, a letter that only looks like a composed one, and mathematical letters are not ASCII;
        // the last of them have a plain form.
        for name in ["\u{430}da", "ad\u{3b1}", "r\u{131}ta", "b\u{f8}b", "\u{501}ana"] {
            let refused = Actor::new(name, "laptop").unwrap_err();
            assert_eq!(refused.code(), Some("RUN0041"), "{name}");
            assert!(refused.to_string().contains("U+"), "{refused}");
        }
        assert_eq!(Actor::new("\u{1d41a}da", "laptop").unwrap().person, "ada");
    }
}
