//! A backend that writes down every call, one line each.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use slipway_state_store::backend::Result;
use slipway_state_store::{Backend, Key, Locality, Prefix, Tag};

/// In front of another backend.
#[derive(Debug)]
pub struct Logged {
    inner: Arc<dyn Backend>,
    path: PathBuf,
}

impl Logged {
    /// Appends its lines to a file.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>, path: &OsStr) -> Self {
        Self { inner, path: PathBuf::from(path) }
    }

    fn note(&self, call: &str, what: &str) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        // A line that is missing fails the test that counts them.
        let _ = file.and_then(|mut file| writeln!(file, "{call} {what}"));
    }
}

#[async_trait::async_trait]
impl Backend for Logged {
    async fn create(&self, key: &Key, bytes: bytes::Bytes) -> Result<Tag> {
        self.note("create", key.as_str());
        self.inner.create(key, bytes).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(bytes::Bytes, Tag)>> {
        self.note("get", key.as_str());
        self.inner.get(key).await
    }

    async fn update(&self, key: &Key, bytes: bytes::Bytes, tag: &Tag) -> Result<Tag> {
        self.note("update", key.as_str());
        self.inner.update(key, bytes, tag).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        self.note("list", prefix.as_str());
        self.inner.list(prefix).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        self.note("list-children", prefix.as_str());
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        self.note("delete", key.as_str());
        self.inner.delete(key).await
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
