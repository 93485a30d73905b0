//! Making the head of a cluster anew, when it is lost or damaged.

use std::sync::Arc;

use crate::backend::{self, Backend};
use crate::error::{Error, Result};
use crate::head::{FORMAT, Head, JournalStart};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, Generation};
use crate::plans;
use crate::state::read_head;
use crate::write::Outcome;

/// What became of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStands {
    /// It is there.
    Whole,
    /// There is none.
    Lost,
    /// There is something that cannot be understood.
    Damaged,
}

/// Looks at the head of a cluster.
///
/// # Errors
/// When it cannot be read, or was written by a newer Slipway.
pub async fn head_stands(backend: &dyn Backend, cluster: &ClusterName) -> Result<HeadStands> {
    match read_head(backend, cluster).await {
        Ok(Some(_)) => Ok(HeadStands::Whole),
        Ok(None) => Ok(HeadStands::Lost),
        Err(Error::Backend(backend::Error::Corrupt { .. })) => Ok(HeadStands::Damaged),
        Err(error) => Err(error),
    }
}

/// Makes a head that nobody holds and that has no state, where there is none or a damaged one. Whoever is at work on
/// the cluster loses it.
///
/// Its generation and its epoch are not before any that the store has an object of, so that no number is used twice: a
/// plan that was made before fits no more, and the journals of all earlier epochs are sealed by whoever takes it.
///
/// # Errors
/// When the store cannot be read or written, or somebody else was first.
pub async fn restore_head(
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
    uid: ClusterUid,
    at_least: Generation,
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
    epoch = epoch.max(segments.iter().filter_map(layout::epoch).max().unwrap_or_default());
    let head = Head {
        format: FORMAT,
        cluster: cluster.clone(),
        uid,
        generation,
        epoch,
        holder: None,
        snapshot: None,
        // So that who takes it seals them all.
        journal_from: JournalStart::of(first),
        last_commit: None,
        unfinished: None,
        deleted: false,
        salt: crate::random::hex()?,
    };
    let key = layout::head(cluster);
    if stands == HeadStands::Damaged {
        // No place compares what it cannot read, so a swap is not to be had. Of two who do this at once, one creates.
        backend.delete(&key).await?;
    }
    match plans::writer(backend).put(&key, &head.encode()?, None).await? {
        Outcome::Written(_) => Ok(head),
        Outcome::Taken { .. } => Err(backend::Error::AlreadyExists { key: key.to_string() }.into()),
    }
}
