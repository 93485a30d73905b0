//! Retries of reads that failed for a transient reason.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Backend, Key, Locality, Prefix, Result, Tag};
use crate::clock::SystemClock;
use crate::retry::Retry;

/// Attempts of a read, and the wait before the first retry.
const RETRY: Retry = Retry { attempts: 5, first_wait: Duration::from_millis(100) };

/// A read that took this long is not retried.
const ENOUGH: Duration = Duration::from_secs(20);

/// A backend that retries reads and deletes after transient failures. It does not retry writes: only the
/// writer can resolve the outcome of a write.
#[derive(Debug)]
pub struct Patient {
    inner: Arc<dyn Backend>,
    retry: Retry,
}

impl Patient {
    /// A few attempts within about two seconds.
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, retry: RETRY }
    }

    async fn again<T, F: Future<Output = Result<T>> + Send>(
        &self,
        call: impl Fn() -> F + Send + Sync,
    ) -> Result<T> {
        let (begun, mut attempt) = (Instant::now(), 1);
        loop {
            let error = match call().await {
                Err(error) if error.is_retryable() && begun.elapsed() < ENOUGH => error,
                result => return result,
            };
            if !self.retry.again_after(attempt, error.retry_after(), &SystemClock).await {
                return Err(error);
            }
            tracing::debug!(%error, attempt, "a read is sent again");
            attempt += 1;
        }
    }
}

#[async_trait]
impl Backend for Patient {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        self.inner.create(key, bytes).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        self.again(|| self.inner.get(key)).await
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        self.inner.update(key, bytes, tag).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        self.again(|| self.inner.list(prefix)).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        self.again(|| self.inner.list_children(prefix)).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        self.again(|| self.inner.delete(key)).await
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
