//! Objects in memory, with the same promises as any other place but to survive the process. For tests and simulations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Backend, Error, Key, Locality, Prefix, Result, Tag};

/// Keeps objects in memory.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    objects: Mutex<Objects>,
}

#[derive(Debug, Default)]
struct Objects {
    by_key: BTreeMap<Key, (Bytes, Tag)>,
    writes: u64,
}

impl Objects {
    fn put(&mut self, key: &Key, bytes: Bytes) -> Tag {
        self.writes += 1;
        let tag = Tag::from_e_tag(self.writes.to_string());
        self.by_key.insert(key.clone(), (bytes, tag.clone()));
        tag
    }
}

impl MemoryBackend {
    /// A place with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that is stored, to compare two moments.
    pub fn dump(&self) -> BTreeMap<Key, Bytes> {
        self.lock().by_key.iter().map(|(key, (bytes, _))| (key.clone(), bytes.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        let mut objects = self.lock();
        if objects.by_key.contains_key(key) {
            return Err(Error::AlreadyExists { key: key.to_string() });
        }
        Ok(objects.put(key, bytes))
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        Ok(self.lock().by_key.get(key).cloned())
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        let mut objects = self.lock();
        match objects.by_key.get(key) {
            None => Err(Error::NotFound { key: key.to_string() }),
            Some((_, current)) if current != tag => Err(Error::Conflict { key: key.to_string() }),
            Some(_) => Ok(objects.put(key, bytes)),
        }
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        let objects = self.lock();
        Ok(objects.by_key.keys().filter(|key| prefix.strip(key.as_str()).is_some()).cloned().collect())
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        let objects = self.lock();
        let below = objects.by_key.keys().filter_map(|key| prefix.strip(key.as_str())?.split_once('/'));
        let names: BTreeSet<&str> = below.map(|(name, _)| name).collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        self.lock().by_key.remove(key);
        Ok(())
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}
