//! Who made which generation, when, and by what.
//!
//! The head tells of the newest generation. Before a commit replaces it, the holder writes what the head tells into a
//! record of its own. What is written follows from the head alone, so that whoever writes it again writes the same, and
//! a commit that then does not happen leaves nothing wrong behind.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key};
use crate::error::{Error, Result};
use crate::head::{CommitMeta, Head, SnapshotRef, check_format};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Generation};
use crate::state::{read_head, read_snapshot};
use crate::write::Writer;

/// The newest format of a record that is understood, and the one that is written.
pub const FORMAT: u32 = 1;

/// How many records are fetched at once.
const AT_ONCE: usize = 16;

/// One generation of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// Which of the clusters of that name.
    pub uid: ClusterUid,
    /// Which generation.
    pub generation: Generation,
    /// Its state; none when it is that of a deleted cluster.
    pub snapshot: Option<SnapshotRef>,
    /// Who, when, by what.
    pub commit: CommitMeta,
    /// Whether this is where the cluster was deleted.
    pub deleted: bool,
}

impl Entry {
    /// What a head tells of its generation; nothing before the first commit.
    pub fn of(head: &Head) -> Option<Self> {
        Some(Self {
            format: FORMAT,
            cluster: head.cluster.clone(),
            uid: head.uid.clone(),
            generation: head.generation,
            snapshot: head.snapshot.clone(),
            commit: head.last_commit.clone()?,
            deleted: head.deleted,
        })
    }

    pub(crate) fn decode(key: &Key, bytes: &[u8]) -> Result<Self> {
        check_format(key, bytes, FORMAT)?;
        let entry: Self =
            serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(key, error))?;
        if layout::history(&entry.cluster, entry.generation) != *key {
            let reason = format!("it is the record of generation {} of {}", entry.generation, entry.cluster);
            return Err(backend::Error::corrupt(key, reason).into());
        }
        Ok(entry)
    }
}

/// Writes down what the head tells of its generation, before another takes its place.
pub(crate) async fn keep(writer: &Writer, head: &Head) -> Result<()> {
    let Some(entry) = Entry::of(head) else {
        return Ok(());
    };
    let key = layout::history(&head.cluster, head.generation);
    let mut bytes =
        serde_json::to_vec_pretty(&entry).map_err(|error| backend::Error::corrupt(&key, error))?;
    bytes.push(b'\n');
    // Whoever wrote it before told the same.
    writer.put(&key, &Bytes::from(bytes), None).await?;
    Ok(())
}

/// The generations of a cluster, the newest first, at most so many. It takes one listing of their records, and one call
/// for each that is returned.
///
/// # Errors
/// [`Error::NoCluster`] when there is none; when a record cannot be read.
pub async fn list(backend: &dyn Backend, cluster: &ClusterName, limit: usize) -> Result<Vec<Entry>> {
    let head = head_of(backend, cluster).await?;
    let mut keys = backend.list(&layout::histories(cluster)).await?;
    keys.retain(|key| layout::generation(key).is_some_and(|generation| generation < head.generation));
    let newest = Entry::of(&head);
    let earlier = limit.saturating_sub(newest.iter().count());
    let wanted = keys.into_iter().rev().take(earlier);
    let fetched = stream::iter(wanted).map(|key| async move { fetch(backend, &key).await }).buffered(AT_ONCE);
    let earlier: Vec<Option<Entry>> = fetched.try_collect().await?;
    Ok(newest.into_iter().take(limit).chain(earlier.into_iter().flatten()).collect())
}

/// What is told of one generation; of the newest if none is named.
///
/// # Errors
/// [`Error::NoGeneration`] when there is no such generation, or nothing is told of it any more.
pub async fn entry(
    backend: &dyn Backend,
    cluster: &ClusterName,
    generation: Option<Generation>,
) -> Result<Entry> {
    let head = head_of(backend, cluster).await?;
    let wanted = generation.unwrap_or(head.generation);
    let found = if wanted == head.generation {
        Entry::of(&head)
    } else {
        fetch(backend, &layout::history(cluster, wanted)).await?
    };
    let newest = head.generation;
    found.ok_or_else(|| Error::NoGeneration { cluster: cluster.clone(), generation: wanted, newest })
}

/// The state of a generation.
///
/// # Errors
/// [`Error::NotKept`] when its snapshot was removed since, or it is the generation of a deletion.
pub async fn snapshot(backend: &dyn Backend, entry: &Entry) -> Result<Bytes> {
    let not_kept = || Error::NotKept { cluster: entry.cluster.clone(), generation: entry.generation };
    let reference = entry.snapshot.as_ref().ok_or_else(not_kept)?;
    if backend.get(&Key::new(&reference.key)?).await?.is_none() {
        return Err(not_kept());
    }
    read_snapshot(backend, reference).await
}

async fn head_of(backend: &dyn Backend, cluster: &ClusterName) -> Result<Head> {
    let found = read_head(backend, cluster).await?;
    found.map(|(head, _)| head).ok_or_else(|| Error::NoCluster { cluster: cluster.clone() })
}

async fn fetch(backend: &dyn Backend, key: &Key) -> Result<Option<Entry>> {
    match backend.get(key).await? {
        Some((bytes, _)) => Entry::decode(key, &bytes).map(Some),
        None => Ok(None),
    }
}
