//! Every backend does what any backend has to do; and the checks notice one that does not.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use slipway_state_store::backend::{self, Backend, Error, Key, Prefix, Tag};
use slipway_state_store::{FileBackend, MemoryBackend, conformance};

async fn check(backend: Arc<dyn Backend>) {
    let prefix = Prefix::new("conformance/here").unwrap();
    conformance::check(&backend, &prefix).await.unwrap();
    assert_eq!(backend.list(&Prefix::root()).await.unwrap(), [], "nothing is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    check(Arc::new(MemoryBackend::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files() {
    let directory = tempfile::tempdir().unwrap();
    check(Arc::new(FileBackend::open(directory.path().join("state")))).await;
}

/// The possible defects of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// Creates overwrite (a bucket that ignores `If-None-Match`).
    Create,
    /// Updates ignore the tag (a bucket that ignores `If-Match`).
    Update,
    /// Updates make what is absent.
    UpdateAbsent,
    /// The tag is a digest of the bytes alone.
    TagOfBytes,
    /// Listings are bounded by bytes, not by segments.
    List,
    /// Listings are not sorted.
    Order,
}

#[derive(Debug)]
struct Defective {
    inner: MemoryBackend,
    defect: Defect,
}

impl Defective {
    /// The tag that is shown for a stored one.
    fn show(&self, bytes: &Bytes, tag: Tag) -> Tag {
        if self.defect == Defect::TagOfBytes { Tag::from_e_tag(format!("{bytes:?}")) } else { tag }
    }
}

#[async_trait]
impl Backend for Defective {
    async fn create(&self, key: &Key, bytes: Bytes) -> backend::Result<Tag> {
        if self.defect == Defect::Create {
            self.inner.delete(key).await?;
        }
        let tag = self.inner.create(key, bytes.clone()).await?;
        Ok(self.show(&bytes, tag))
    }

    async fn get(&self, key: &Key) -> backend::Result<Option<(Bytes, Tag)>> {
        Ok(self.inner.get(key).await?.map(|(bytes, tag)| {
            let tag = self.show(&bytes, tag);
            (bytes, tag)
        }))
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> backend::Result<Tag> {
        let Some((stored, current)) = self.inner.get(key).await? else {
            return match self.defect {
                Defect::UpdateAbsent => self.inner.create(key, bytes).await,
                _ => Err(Error::NotFound { key: key.to_string() }),
            };
        };
        let is_current = self.show(&stored, current.clone()) == *tag || self.defect == Defect::Update;
        if !is_current {
            return Err(Error::Conflict { key: key.to_string() });
        }
        let tag = self.inner.update(key, bytes.clone(), &current).await?;
        Ok(self.show(&bytes, tag))
    }

    async fn list(&self, prefix: &Prefix) -> backend::Result<Vec<Key>> {
        let mut keys = self.inner.list(&Prefix::root()).await?;
        match self.defect {
            Defect::List => keys.retain(|key| key.as_str().starts_with(prefix.as_str())),
            _ => keys.retain(|key| prefix.strip(key.as_str()).is_some()),
        }
        if self.defect == Defect::Order {
            keys.reverse();
        }
        Ok(keys)
    }

    async fn list_children(&self, prefix: &Prefix) -> backend::Result<Vec<String>> {
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> backend::Result<()> {
        self.inner.delete(key).await
    }
}

#[tokio::test]
async fn a_place_that_only_seems_to_fit_is_noticed() {
    for defect in [
        Defect::Create,
        Defect::Update,
        Defect::UpdateAbsent,
        Defect::TagOfBytes,
        Defect::List,
        Defect::Order,
    ] {
        let backend: Arc<dyn Backend> = Arc::new(Defective { inner: MemoryBackend::new(), defect });
        let prefix = Prefix::new("conformance").unwrap();
        let failure = conformance::check(&backend, &prefix).await.unwrap_err();
        println!("{defect:?}: {failure}");
    }
}
