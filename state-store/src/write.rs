//! One conditional write, sent until it is known what became of it.
//!
//! What is sent again is the same bytes under the same condition, so that it counts once at most; and all that is sent
//! so is random in part, so that finding these bytes stored means that they were sent by this writer.

use std::sync::Arc;

use bytes::Bytes;

use crate::backend::{self, Backend, Error, Key, Tag};
use crate::clock::Clock;
use crate::retry::Retry;

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is stored.
    Written(Tag),
    /// Something else is stored there; this was not and will not be.
    Taken {
        /// What is stored.
        bytes: Bytes,
        /// Its version.
        tag: Tag,
    },
}

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
                Err(error) if error.is_retryable() && self.again(attempt).await => attempt += 1,
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
        let mut attempt = 1;
        loop {
            match self.put_once(key, bytes, expected).await {
                Err(error) if error.is_retryable() && self.again(attempt).await => attempt += 1,
                result => return result,
            }
        }
    }

    async fn put_once(&self, key: &Key, bytes: &Bytes, expected: Option<&Tag>) -> backend::Result<Outcome> {
        let result = match expected {
            None => self.backend.create(key, bytes.clone()).await,
            Some(tag) => self.backend.update(key, bytes.clone(), tag).await,
        };
        match result {
            Ok(tag) => Ok(Outcome::Written(tag)),
            Err(Error::AlreadyExists { .. } | Error::Conflict { .. }) => match self.get(key).await? {
                Some((stored, tag)) if stored == *bytes => Ok(Outcome::Written(tag)),
                Some((bytes, tag)) => Ok(Outcome::Taken { bytes, tag }),
                None => Err(Error::NotFound { key: key.to_string() }),
            },
            Err(error) => Err(error),
        }
    }

    async fn again(&self, attempt: u32) -> bool {
        self.retry.again(attempt, &*self.clock).await
    }
}
