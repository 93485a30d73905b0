//! One conditional write, repeated until its outcome is known.
//!
//! A retry sends the same bytes under the same condition, so it has an effect at most once. The bytes have a
//! random part, so if they are found stored, this writer has sent them. [`put::Put`] decides what follows
//! from an answer.

pub(crate) mod put;

use std::sync::Arc;

use bytes::Bytes;

use crate::backend::{self, Backend, Error, Key, Prefix, Tag};
use crate::clock::Clock;
use crate::retry::Retry;
use put::{Answer, Next, Put, Request};

/// The outcome of a write.
pub(crate) type Outcome = put::Outcome<Bytes, Tag>;

/// Where and how patiently to write.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retry: Retry,
}

impl Writer {
    /// Reads, also when it takes several attempts.
    pub(crate) async fn get(&self, key: &Key) -> backend::Result<Option<(Bytes, Tag)>> {
        let mut attempt = 1;
        loop {
            match self.backend.get(key).await {
                Err(error) if error.is_retryable() && self.again(attempt, &error).await => attempt += 1,
                result => return result,
            }
        }
    }

    /// Lists, also when it takes several attempts.
    pub(crate) async fn list(&self, prefix: &Prefix) -> backend::Result<Vec<Key>> {
        let mut attempt = 1;
        loop {
            match self.backend.list(prefix).await {
                Err(error) if error.is_retryable() && self.again(attempt, &error).await => attempt += 1,
                result => return result,
            }
        }
    }

    /// Creates, or updates the version that `expected` names.
    pub(crate) async fn put(
        &self,
        key: &Key,
        bytes: &Bytes,
        expected: Option<&Tag>,
    ) -> backend::Result<Outcome> {
        let mut put = Put::new(bytes.clone());
        let mut attempt = 1;
        loop {
            let answered = self.send(key, &put, expected).await;
            let (answer, failed) = match answered {
                Ok(answer) => (answer, None),
                Err(error) if error.is_retryable() => (Answer::Lost, Some(error)),
                Err(error) => return Err(error),
            };
            match (put.answer(answer), failed) {
                (Next::Done(outcome), _) => return Ok(outcome),
                (Next::Missing, _) => return Err(Error::NotFound { key: key.to_string() }),
                (Next::Again, Some(error)) if !self.again(attempt, &error).await => return Err(error),
                (Next::Again, _) => attempt += 1,
                (Next::Look, _) => attempt = 1,
            }
        }
    }

    /// Creates an object below a prefix, unless there is one: that stays, also if no key at hand opens it. Returns whether it was
    /// created.
    pub(crate) async fn keep(&self, prefix: &Prefix, key: &Key, bytes: &Bytes) -> backend::Result<bool> {
        match self.put(key, bytes, None).await {
            Ok(outcome) => Ok(matches!(outcome, Outcome::Written(_))),
            // It is not known yet whether the object exists, or this one cannot be encrypted.
            Err(error @ Error::Sealed { .. }) => {
                if self.list(prefix).await?.contains(key) {
                    Ok(false)
                } else {
                    Err(error)
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn send(
        &self,
        key: &Key,
        put: &Put<Bytes>,
        expected: Option<&Tag>,
    ) -> backend::Result<Answer<Bytes, Tag>> {
        let written = match (put.request(), expected) {
            (Request::Read, _) => {
                let stored = self.backend.get(key).await?;
                return Ok(stored.map_or(Answer::Absent, |(bytes, tag)| Answer::Found(bytes, tag)));
            }
            (Request::Write, None) => self.backend.create(key, put.value().clone()).await,
            (Request::Write, Some(tag)) => self.backend.update(key, put.value().clone(), tag).await,
        };
        match written {
            Ok(tag) => Ok(Answer::Written(tag)),
            Err(Error::AlreadyExists { .. } | Error::Conflict { .. }) => Ok(Answer::Refused),
            Err(error) => Err(error),
        }
    }

    async fn again(&self, attempt: u32, error: &Error) -> bool {
        self.retry.again_after(attempt, error.retry_after(), &*self.clock).await
    }
}
