//! The history of generations: operator, time and operation of each.
//!
//! The head describes the newest generation. Before a commit replaces the head, the holder writes this
//! description into a separate record. The record depends on the head alone: writing it twice gives the same
//! bytes, and it is also right when the commit then fails.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key};
use crate::error::{Error, Result};
use crate::head::{CommitMeta, Head, SnapshotRef, check_format};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Generation};
use crate::readable::{Readable, opened};
use crate::state::{read_head, read_snapshot};
use crate::write::Writer;

/// The newest supported format of a record, and the written one.
pub const FORMAT: u32 = 1;

/// The operation of the record that [`crate::restore_head`] writes for the generation of a lost head. Earlier generations need not
/// be in the store: the state may come from an archive.
pub const RESTORED: &str = "restore head";

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
    /// The uid, which tells clusters of one name apart.
    pub uid: ClusterUid,
    /// The generation.
    pub generation: Generation,
    /// Its state; `None` for the generation of a deletion.
    pub snapshot: Option<SnapshotRef>,
    /// The operator, time and operation.
    pub commit: CommitMeta,
    /// Whether this generation is the deletion of the cluster.
    pub deleted: bool,
}

impl Entry {
    /// The entry of a head's generation; `None` before the first commit.
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

/// Writes the record of the head's generation, before another generation replaces it.
pub(crate) async fn keep(writer: &Writer, head: &Head) -> Result<()> {
    let Some(entry) = Entry::of(head) else {
        return Ok(());
    };
    let key = layout::history(&head.cluster, head.generation);
    let mut bytes =
        serde_json::to_vec_pretty(&entry).map_err(|error| backend::Error::corrupt(&key, error))?;
    bytes.push(b'\n');
    // An earlier write of the record has the same bytes.
    writer.keep(&layout::histories(&head.cluster), &key, &Bytes::from(bytes)).await?;
    Ok(())
}

/// The generations of a cluster, the newest first, at most `limit`. Costs one listing of their records, and
/// one call for each returned generation.
///
/// # Errors
/// [`Error::NoCluster`] when there is no cluster; when a record cannot be read.
pub async fn list(backend: &dyn Backend, cluster: &ClusterName, limit: usize) -> Result<Vec<Entry>> {
    let (newest, wanted) = wanted(backend, cluster, limit).await?;
    let fetched = stream::iter(wanted).map(|key| async move { fetch(backend, &key).await }).buffered(AT_ONCE);
    let earlier: Vec<Option<Entry>> = fetched.try_collect().await?;
    Ok(newest.into_iter().chain(earlier.into_iter().flatten()).collect())
}

/// As [`list`], and passes over the records that no key at hand opens. They count for the limit.
///
/// # Errors
/// [`Error::NoCluster`] when there is no cluster; when a record cannot be read for another reason.
pub async fn readable(backend: &dyn Backend, cluster: &ClusterName, limit: usize) -> Result<Readable<Entry>> {
    let (newest, wanted) = wanted(backend, cluster, limit).await?;
    let fetch = |key: Key| async move {
        let read = fetch(backend, &key).await;
        opened(key, read)
    };
    let earlier: Vec<_> = stream::iter(wanted).map(fetch).buffered(AT_ONCE).try_collect().await?;
    Ok(Readable::of(newest.into_iter().map(Ok).chain(earlier.into_iter().flatten())))
}

/// The newest generation, and the keys of the records of earlier ones, the newest first, at most `limit` together.
async fn wanted(
    backend: &dyn Backend,
    cluster: &ClusterName,
    limit: usize,
) -> Result<(Option<Entry>, Vec<Key>)> {
    let head = head_of(backend, cluster).await?;
    let mut keys = backend.list(&layout::histories(cluster)).await?;
    keys.retain(|key| layout::generation(key).is_some_and(|generation| generation < head.generation));
    let newest = Entry::of(&head).filter(|_| limit > 0);
    let earlier = limit.saturating_sub(newest.iter().count());
    Ok((newest, keys.into_iter().rev().take(earlier).collect()))
}

/// Earlier generations in succession without a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The first of them.
    pub first: Generation,
    /// The last of them.
    pub last: Generation,
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(formatter, "generation {}", self.first),
            false => write!(formatter, "generations {} to {}", self.first, self.last),
        }
    }
}

/// The earlier generations that have no record. Slipway never removes such records. Costs one listing of the records, and one call
/// for the oldest of them.
///
/// # Errors
/// [`Error::NoCluster`] when there is no cluster; when the records cannot be listed.
pub async fn missing(backend: &dyn Backend, cluster: &ClusterName) -> Result<Vec<Gap>> {
    let head = head_of(backend, cluster).await?;
    let keys = backend.list(&layout::histories(cluster)).await?;
    let recorded: BTreeSet<Generation> = keys.iter().filter_map(layout::generation).collect();
    let oldest = match recorded.first() {
        // A record that cannot be read is not missing.
        Some(oldest) => fetch(backend, &layout::history(cluster, *oldest)).await.ok().flatten(),
        None => None,
    };
    Ok(gaps(&head, &recorded, oldest.as_ref()))
}

/// The earlier generations that have no record. `oldest` is the oldest record, if it can be read.
///
/// The first generation is 1. The generation of a restored head is the first one of its store, unless there are older records.
pub(crate) fn gaps(head: &Head, recorded: &BTreeSet<Generation>, oldest: Option<&Entry>) -> Vec<Gap> {
    let is_restored = |commit: &CommitMeta| commit.operation == RESTORED;
    let begins = match (recorded.first(), oldest) {
        (Some(_), Some(entry)) if !is_restored(&entry.commit) => Generation(1),
        (Some(first), _) => *first,
        (None, _) if head.last_commit.as_ref().is_some_and(is_restored) => head.generation,
        (None, _) => Generation(1),
    };
    let mut gaps = Vec::new();
    let mut next = begins.0;
    for present in recorded.iter().chain([&head.generation]).filter(|present| **present <= head.generation) {
        if let Some(last) = present.0.checked_sub(1).filter(|last| *last >= next) {
            gaps.push(Gap { first: Generation(next), last: Generation(last) });
        }
        next = next.max(present.0.saturating_add(1));
    }
    gaps
}

/// The record of one generation; of the newest if none is named.
///
/// # Errors
/// [`Error::NoGeneration`] when there is no such generation, or its record was removed.
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
