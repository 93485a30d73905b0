//! Creates the head of a cluster again, when it is lost, damaged, or an old one.

use std::sync::Arc;

use crate::backend::{self, Backend, Key};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::{CommitMeta, FORMAT, Head, JournalStart, SnapshotRef};
use crate::history;
use crate::journal::{read, segment};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, Generation};
use crate::plans;
use crate::state::{later_than, read_head};
use crate::write::Outcome;

/// The condition of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStands {
    /// It exists.
    Whole,
    /// It does not exist.
    Lost,
    /// It cannot be decoded, or names an epoch that the journal does not lead to.
    Damaged,
    /// It is an earlier head, which was put back in the place of a later one.
    Old,
}

/// Checks the head of a cluster.
///
/// # Errors
/// When it cannot be read, or was written by a newer Slipway.
pub async fn head_stands(backend: &dyn Backend, cluster: &ClusterName) -> Result<HeadStands> {
    match read_head(backend, cluster).await {
        Ok(Some((head, tag))) => {
            match read::refuse_unreached(backend, &head).await {
                Err(Error::Backend(backend::Error::Corrupt { .. })) => return Ok(HeadStands::Damaged),
                checked => checked?,
            }
            let is_old = later_than(backend, &head).await?.is_some()
                && read_head(backend, cluster).await?.is_some_and(|(_, now)| now == tag);
            Ok(if is_old { HeadStands::Old } else { HeadStands::Whole })
        }
        Ok(None) => Ok(HeadStands::Lost),
        Err(Error::Backend(backend::Error::Corrupt { .. })) => Ok(HeadStands::Damaged),
        Err(error) => Err(error),
    }
}

/// Creates a head without holder and state, where there is none, a damaged one or an old one. A process that works on the
/// cluster loses its hold.
///
/// Its generation and epoch are not lower than those of any object in the store, so that no number is used
/// twice. Plans that were made before do not fit it, and the next holder seals the journals of all earlier
/// epochs. The history records `meta` for the generation of the lost head, with its snapshot, if there is
/// one.
///
/// # Errors
/// When the store cannot be read or written, or another process created the head first.
pub async fn restore_head(
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
    uid: ClusterUid,
    at_least: Generation,
    meta: CommitMeta,
) -> Result<Head> {
    let stands = head_stands(&**backend, cluster).await?;
    if stands == HeadStands::Whole {
        return Err(backend::Error::AlreadyExists { key: layout::head(cluster).to_string() }.into());
    }
    let (mut generation, mut epoch) = (at_least, Epoch(0));
    for prefix in [layout::snapshots(cluster), layout::histories(cluster)] {
        let keys = backend.list(&prefix).await?;
        generation = generation.max(keys.iter().filter_map(layout::generation).max().unwrap_or_default());
    }
    let segments = backend.list(&layout::journals(cluster)).await?;
    let first = segments.iter().filter_map(layout::epoch).min().unwrap_or_default();
    epoch = epoch.max(last_epoch(&**backend, &segments).await);
    let head = Head {
        format: FORMAT,
        cluster: cluster.clone(),
        uid,
        generation,
        epoch,
        holder: None,
        snapshot: None,
        // The next holder seals them all.
        journal_from: JournalStart::of(first),
        last_commit: Some(meta),
        unfinished: None,
        deleted: false,
        salt: crate::random::hex()?,
    };
    record(backend, &head).await?;
    let key = layout::head(cluster);
    let mut tag = None;
    if stands == HeadStands::Damaged {
        // A backend cannot compare a damaged object, so a swap is impossible. Of two concurrent calls, one
        // creates the head.
        backend.delete(&key).await?;
    } else if stands == HeadStands::Old {
        tag = read_head(&**backend, cluster).await?.map(|(_, tag)| tag);
    }
    match plans::writer(backend).put(&key, &head.encode()?, tag.as_ref()).await? {
        Outcome::Written(_) => Ok(head),
        Outcome::Taken { .. } => Err(backend::Error::AlreadyExists { key: key.to_string() }.into()),
    }
}

/// The last epoch that the journal shows: the seal at its end names the epoch of the holder who wrote it.
async fn last_epoch(backend: &dyn Backend, segments: &[Key]) -> Epoch {
    let Some(last) = segments.last() else { return Epoch::default() };
    let epoch = layout::epoch(last).unwrap_or_default();
    let sealed_by = match (backend.get(last).await, layout::sequence(last)) {
        (Ok(Some((bytes, _))), Some(sequence)) => match segment::decode(last, epoch, sequence, &bytes) {
            Ok(segment) => segment.seal.map(|seal| seal.by),
            // It may have been a seal.
            Err(_) => Some(epoch.next()),
        },
        _ => Some(epoch.next()),
    };
    sealed_by.map_or(epoch, |by| by.max(epoch))
}

/// Records the generation of the lost head in the history, if it has no record yet.
async fn record(backend: &Arc<dyn Backend>, head: &Head) -> Result<()> {
    let mut lost = head.clone();
    let snapshots = backend.list(&layout::snapshots(&head.cluster)).await?;
    let of_it = |key: &&Key| layout::generation(key) == Some(head.generation);
    // Of two snapshots, one is of a failed commit, and nothing shows which.
    if let [key] = snapshots.iter().filter(of_it).collect::<Vec<_>>()[..]
        && let Ok(Some((bytes, _))) = backend.get(key).await
    {
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        lost.snapshot = Some(SnapshotRef { key: key.to_string(), digest, size });
    }
    history::keep(&plans::writer(backend), &lost).await
}
