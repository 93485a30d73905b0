//! The rules of every backend, as checks that run against a real one.
//!
//! They write below a separate prefix, and remove their objects. The store's own tests run them over every
//! backend. On a bucket they prove, before the first use, that conditional writes work.

mod races;
mod rules;

use std::sync::Arc;

use bytes::Bytes;

use crate::backend::error::describe;
use crate::backend::{Backend, Error, Key, Prefix, Tag};
use crate::clock::SystemClock;
use crate::retry::Retry;

pub use races::increment;

/// A rule that a backend breaks.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the backend breaks a rule: {rule}; {seen}")]
pub struct Failure {
    /// The rule of backends.
    pub rule: &'static str,
    /// The behaviour of this backend.
    pub seen: String,
    /// The failure of a call that had to succeed.
    #[source]
    pub source: Option<Error>,
}

impl Failure {
    fn new(rule: &'static str, seen: String) -> Self {
        Self { rule, seen, source: None }
    }
}

/// A result of a check.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Runs all checks below `prefix`, where nothing else may write at the same time.
///
/// # Errors
/// The first rule that is broken.
pub async fn check(backend: &Arc<dyn Backend>, prefix: &Prefix) -> Result {
    let room = Room { backend: backend.clone(), prefix: prefix.clone() };
    let result = check_all(&room).await;
    let cleaned = room.clean().await;
    result.and(cleaned)
}

async fn check_all(room: &Room) -> Result {
    rules::create(room).await?;
    rules::update(room).await?;
    rules::contents(room).await?;
    rules::delete(room).await?;
    rules::list(room).await?;
    races::create(room, races::Race { writers: 8, times: 12 }).await?;
    races::update(room, races::Race { writers: 8, times: 12 }).await
}

/// How often the probe begins again when a call did not get through.
const ATTEMPTS: u32 = 5;

/// The rules that a probe proves, with the fewest requests that do.
pub(crate) async fn prove(backend: &Arc<dyn Backend>, prefix: &Prefix) -> Result<Vec<&'static str>, Error> {
    let mut attempt = 1;
    loop {
        let prefix = Prefix::new(&format!("{}/{attempt}", prefix.as_str()))?;
        let room = Room { backend: backend.clone(), prefix };
        let proved = prove_once(&room).await;
        let cleaned = room.clean().await;
        let failure = match proved.and_then(|rules| cleaned.map(|()| rules)) {
            Ok(rules) => return Ok(rules),
            Err(failure) => failure,
        };
        let error = match failure.source {
            // The backend did not carry out the call: that says nothing about its guarantees.
            Some(
                error @ (Error::Transient { .. }
                | Error::OutcomeUnknown { .. }
                | Error::Permission { .. }
                | Error::NoBucket { .. }
                | Error::WrongRegion { .. }
                | Error::Credentials { .. }
                | Error::Random),
            ) => error,
            _ => return Err(Error::Unfit { rule: failure.rule, seen: failure.seen }),
        };
        let retry = Retry { attempts: ATTEMPTS, ..Retry::default() };
        if !error.is_retryable() || !retry.again_after(attempt, error.retry_after(), &SystemClock).await {
            return Err(error);
        }
        attempt += 1;
    }
}

async fn prove_once(room: &Room) -> Result<Vec<&'static str>> {
    rules::create(room).await?;
    rules::update(room).await?;
    rules::delete(room).await?;
    rules::listed(room).await?;
    races::create(room, races::Race { writers: 4, times: 2 }).await?;
    Ok(vec![
        "an object is created once",
        "an update replaces the version that was read, and nothing else",
        "what was deleted and made again is another version",
        "what was written is listed at once",
        "one of many creates at once wins",
    ])
}

/// A backend, and where the checks may write.
pub(crate) struct Room {
    pub(crate) backend: Arc<dyn Backend>,
    prefix: Prefix,
}

impl Room {
    pub(crate) fn key(&self, name: &str) -> Result<Key> {
        let text = format!("{}/{name}", self.prefix.as_str());
        expect("a prefix leaves room for keys", Key::new(text.trim_start_matches('/')))
    }

    pub(crate) fn prefix(&self, name: &str) -> Result<Prefix> {
        let text = format!("{}/{name}", self.prefix.as_str());
        expect("a prefix leaves room for keys", Prefix::new(text.trim_start_matches('/')))
    }

    pub(crate) async fn create(&self, key: &Key, bytes: &'static [u8]) -> Result<Tag> {
        let created = self.backend.create(key, Bytes::from_static(bytes)).await;
        expect("an object that does not exist can be created", created)
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        expect("an object can be read", self.backend.get(key).await)
    }

    async fn clean(&self) -> Result {
        let rule = "what was written can be listed and deleted";
        for key in expect(rule, self.backend.list(&self.prefix).await)? {
            expect(rule, self.backend.delete(&key).await)?;
        }
        Ok(())
    }
}

/// A call that has to succeed.
pub(crate) fn expect<T>(rule: &'static str, result: std::result::Result<T, Error>) -> Result<T> {
    result.map_err(|error| Failure {
        rule,
        seen: format!("it fails: {}", describe(&error)),
        source: Some(error),
    })
}

/// Two values that have to be the same.
pub(crate) fn expect_same<T: PartialEq + std::fmt::Debug>(rule: &'static str, seen: T, wanted: T) -> Result {
    if seen == wanted {
        Ok(())
    } else {
        Err(Failure::new(rule, format!("{seen:.200?} instead of {wanted:.200?}")))
    }
}

/// A condition that has to hold.
pub(crate) fn expect_that(rule: &'static str, holds: bool, seen: impl std::fmt::Debug) -> Result {
    if holds { Ok(()) } else { Err(Failure::new(rule, format!("it gives {seen:.200?}"))) }
}
