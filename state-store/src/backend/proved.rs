//! A bucket that is proved before the first write to it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::OnceCell;

use super::{Backend, Key, Locality, Prefix, Result, Tag};
use crate::probe;

/// A backend that, before the first write, reads the marker of the store; and where there is none, proves with the
/// probe that the place honours conditional writes, and leaves the marker. Reading proves nothing and writes nothing.
#[derive(Debug)]
pub struct Proved {
    inner: Arc<dyn Backend>,
    proved: OnceCell<()>,
}

impl Proved {
    /// Proves `inner` when the first write comes.
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, proved: OnceCell::new() }
    }

    /// Proves the place, unless the write is a part of that.
    async fn prove(&self, key: &Key) -> Result<()> {
        if probe::is_own(key) {
            return Ok(());
        }
        self.proved.get_or_try_init(|| async { probe::ensure(&self.inner).await.map(|_| ()) }).await?;
        Ok(())
    }
}

#[async_trait]
impl Backend for Proved {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        self.prove(key).await?;
        self.inner.create(key, bytes).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        self.inner.get(key).await
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        self.prove(key).await?;
        self.inner.update(key, bytes, tag).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        self.inner.list(prefix).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        self.prove(key).await?;
        self.inner.delete(key).await
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
