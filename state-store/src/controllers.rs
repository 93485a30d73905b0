//! Documents of controllers beside the clusters: small, and changed by compare-and-swap.
//!
//! ```text
//! _controller/board                 what persons asked of controllers: pauses and requests
//! _controller/members/<controller>  the replicas of a controller
//! _controller/sources/<source>      what was read last from a source
//! _controller/status/<cluster>      what a controller found and did last
//! ```
//!
//! No cluster can have the name of the prefix. The state store does not interpret the documents. They contain names,
//! numbers, digests and messages, and are stored in plain text, like heads.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key, Prefix};
use crate::error::{Error, Result};
use crate::head::check_format;
use crate::name::ClusterName;
use crate::plans;
use crate::random;
use crate::write::Outcome;

/// The prefix of all documents.
pub const PREFIX: &str = "_controller";

/// The newest supported format of a document, and the written one.
pub const FORMAT: u32 = 1;

/// How often a change is tried again because another process was faster.
const ATTEMPTS: u32 = 20;

/// How many documents are read at once.
const AT_ONCE: usize = 16;

/// A document as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<T> {
    /// [`FORMAT`].
    format: u32,
    /// Random, and new for each write, so that equal documents never look like an unchanged object.
    salt: String,
    /// The document.
    document: T,
}

/// The key of the board.
pub fn board() -> Key {
    Key::trusted(format!("{PREFIX}/board"))
}

/// The key of the replicas of a controller.
///
/// # Errors
/// [`Error::Backend`] when the name cannot be a part of a key.
pub fn members(controller: &str) -> Result<Key> {
    Ok(Key::new(format!("{PREFIX}/members/{controller}"))?)
}

/// The key of a source's document.
///
/// # Errors
/// [`Error::Backend`] when the name cannot be a part of a key.
pub fn source(source: &str) -> Result<Key> {
    Ok(Key::new(format!("{PREFIX}/sources/{source}"))?)
}

/// The key of a cluster's status.
pub fn status(cluster: &ClusterName) -> Key {
    Key::trusted(format!("{PREFIX}/status/{cluster}"))
}

/// Whether a key belongs to a document of controllers.
pub fn is_document(key: &Key) -> bool {
    key.as_str().strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('/'))
}

/// Reads a document; `None` when there is none.
///
/// # Errors
/// When it cannot be read, is damaged, or was written by a newer Slipway.
pub async fn read<T: DeserializeOwned>(backend: &dyn Backend, key: &Key) -> Result<Option<T>> {
    match backend.get(key).await? {
        Some((bytes, _)) => decode(key, &bytes).map(Some),
        None => Ok(None),
    }
}

/// All sources' documents, or all statuses, by the last segment of their keys, sorted.
///
/// # Errors
/// As [`read`].
pub async fn read_all<T: DeserializeOwned>(backend: &dyn Backend, group: Group) -> Result<Vec<(String, T)>> {
    let keys = backend.list(&Prefix::trusted(format!("{PREFIX}/{}", group.folder()))).await?;
    let fetch = |key: Key| async move {
        let found = read(backend, &key).await?;
        Ok::<_, Error>(found.map(|found| (key.name().to_owned(), found)))
    };
    let found: Vec<Option<(String, T)>> =
        stream::iter(keys).map(fetch).buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// The documents that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Of sources.
    Sources,
    /// Of clusters.
    Statuses,
}

impl Group {
    fn folder(self) -> &'static str {
        match self {
            Self::Sources => "sources",
            Self::Statuses => "status",
        }
    }
}

/// Changes a document. `change` gets the present one, and returns the new one, or `None` to leave it as it is; it is called
/// again when another process was faster. Returns the document as it is now.
///
/// # Errors
/// As [`read`], and when it cannot be written, or other processes change it all the time.
pub async fn change<T: Serialize + DeserializeOwned>(
    backend: &Arc<dyn Backend>,
    key: &Key,
    mut change: impl FnMut(Option<T>) -> Option<T>,
) -> Result<Option<T>> {
    let writer = plans::writer(backend);
    let mut found = writer.get(key).await?;
    for _ in 0..ATTEMPTS {
        let (bytes, tag) = match &found {
            Some((bytes, tag)) => (Some(bytes), Some(tag)),
            None => (None, None),
        };
        let present = bytes.map(|bytes| decode(key, bytes)).transpose()?;
        let Some(document) = change(present) else {
            return bytes.map(|bytes| decode(key, bytes)).transpose();
        };
        let wanted = encode(key, &document)?;
        match writer.put(key, &wanted, tag).await {
            Ok(Outcome::Written(_)) => return Ok(Some(document)),
            Ok(Outcome::Taken { value, tag }) => found = Some((value, tag)),
            // It was removed since it was read.
            Err(backend::Error::NotFound { .. }) => found = None,
            Err(error) => return Err(error.into()),
        }
    }
    Err(backend::Error::Conflict { key: key.to_string() }.into())
}

/// Removes the status of a cluster, if there is one.
///
/// # Errors
/// When the backend refuses.
pub async fn forget(backend: &dyn Backend, cluster: &ClusterName) -> Result<()> {
    Ok(backend.delete(&status(cluster)).await?)
}

fn encode<T: Serialize>(key: &Key, document: &T) -> Result<Bytes> {
    let salt = random::hex().map_err(|_| Error::Random)?;
    let stored = Stored { format: FORMAT, salt, document };
    let mut bytes =
        serde_json::to_vec_pretty(&stored).map_err(|error| backend::Error::corrupt(key, error))?;
    bytes.push(b'\n');
    Ok(bytes.into())
}

fn decode<T: DeserializeOwned>(key: &Key, bytes: &[u8]) -> Result<T> {
    check_format(key, bytes, FORMAT)?;
    let stored: Stored<T> =
        serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(key, error))?;
    Ok(stored.document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::MemoryBackend;

    #[tokio::test]
    async fn changes_of_several_processes_are_all_kept() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let add = |name: &'static str| {
            let backend = backend.clone();
            async move {
                let grow = |found: Option<Vec<String>>| {
                    let mut names = found.unwrap_or_default();
                    names.push(name.to_owned());
                    Some(names)
                };
                change(&backend, &board(), grow).await.unwrap()
            }
        };
        tokio::join!(add("a"), add("b"), add("c"));
        let mut names: Vec<String> = read(&*backend, &board()).await.unwrap().unwrap();
        names.sort();
        assert_eq!(names, ["a", "b", "c"]);
        let kept = change(&backend, &board(), |_: Option<Vec<String>>| None).await.unwrap().unwrap();
        assert_eq!(kept.len(), 3, "a change that returns nothing leaves the document");
    }

    #[tokio::test]
    async fn documents_are_neither_clusters_nor_of_a_cluster() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let cluster = ClusterName::new("prod").unwrap();
        change(&backend, &status(&cluster), |_: Option<u32>| Some(1)).await.unwrap();
        assert!(crate::list_clusters(&*backend).await.unwrap().is_empty());
        assert!(is_document(&status(&cluster)) && !is_document(&Key::new("prod/head").unwrap()));
        let all = read_all::<u32>(&*backend, Group::Statuses).await.unwrap();
        assert_eq!(all, [("prod".to_owned(), 1)]);
        forget(&*backend, &cluster).await.unwrap();
        assert!(read_all::<u32>(&*backend, Group::Statuses).await.unwrap().is_empty());
        assert!(ClusterName::new(PREFIX).is_err());
    }
}
