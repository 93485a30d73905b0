//! Reads a cluster's state: the snapshot, and the later records of the journal. Writes nothing.

use bytes::Bytes;

use crate::backend::{self, Backend, Key, Prefix, Tag};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::{Head, SnapshotRef};
use crate::journal;
use crate::journal::segment;
use crate::layout;
use crate::name::{ClusterName, Epoch, Sequence};

/// Maximum number of reads when commits replace the state during the read.
const ATTEMPTS: u32 = 10;

/// A cluster's state at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The head.
    pub head: Head,
    /// The snapshot of the last commit; `None` before the first commit, and after the cluster was deleted.
    pub snapshot: Option<Bytes>,
    /// The later records of the journal, in order.
    pub records: Vec<Record>,
}

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The epoch of the holder that appended it.
    pub epoch: Epoch,
    /// The segment that it is in.
    pub sequence: Sequence,
    /// One JSON value.
    pub value: Bytes,
}

/// The head of a cluster, and its version; `None` when there is no such cluster.
///
/// # Errors
/// When it cannot be read, is damaged, or was written by a newer Slipway.
pub async fn read_head(backend: &dyn Backend, cluster: &ClusterName) -> Result<Option<(Head, Tag)>> {
    match backend.get(&layout::head(cluster)).await? {
        Some((bytes, tag)) => Ok(Some((Head::decode(cluster, &bytes)?, tag))),
        None => Ok(None),
    }
}

/// The state of a cluster; `None` when there is no such cluster. A deleted cluster has a head with a
/// tombstone.
///
/// It is consistent: a snapshot, and a prefix of the later records that includes all that were durable when
/// the read began. All digests are checked.
///
/// # Errors
/// When an object cannot be read, is missing, is damaged, or was written by a newer Slipway.
pub async fn read(backend: &dyn Backend, cluster: &ClusterName) -> Result<Option<View>> {
    let mut attempt = 1;
    let mut head = match read_head(backend, cluster).await? {
        Some((head, _)) => head,
        None => match lost(backend, cluster).await? {
            Lost::Never => return Ok(None),
            Lost::Begun(head) => *head,
            Lost::Head(evidence) => return Err(Error::HeadLost { cluster: cluster.clone(), evidence }),
        },
    };
    loop {
        let view = read_at(backend, &head).await;
        // Objects that a commit replaced may be removed while they are being read.
        let Some((now, _)) = read_head(backend, cluster).await? else {
            return Err(backend::Error::NotFound { key: layout::head(cluster).to_string() }.into());
        };
        // A takeover seals after it has changed the head: a head that is still the same is an old one.
        let is_taken = matches!(view, Err(Error::HeadReplaced { .. })) && now.epoch != head.epoch;
        let is_same = now.generation == head.generation && now.uid == head.uid && !is_taken;
        if is_same || attempt >= ATTEMPTS {
            return view.map(Some);
        }
        head = now;
        attempt += 1;
    }
}

/// The condition of a cluster without a head.
pub(crate) enum Lost {
    /// It never existed.
    Never,
    /// Another process has created it since.
    Begun(Box<Head>),
    /// It existed, as this object shows.
    Head(String),
}

/// Searches for remains of a cluster without a head. A state begins with its head and ends with a tombstone,
/// so a journal, a snapshot, a record or a secret without a head belongs to a lost state. Plans and approvals
/// may be stored before there is a state.
pub(crate) async fn lost(backend: &dyn Backend, cluster: &ClusterName) -> Result<Lost> {
    let groups = [
        layout::snapshots(cluster),
        layout::journals(cluster),
        layout::histories(cluster),
        layout::secrets(cluster),
    ];
    for prefix in groups {
        let Some(key) = backend.list(&prefix).await?.pop() else { continue };
        // A faster process may have created the head between the two reads.
        return Ok(match read_head(backend, cluster).await? {
            Some((head, _)) => Lost::Begun(Box::new(head)),
            None => Lost::Head(key.to_string()),
        });
    }
    Ok(Lost::Never)
}

/// The clusters of a state store, sorted, including those with a tombstone only. Costs one listing.
///
/// # Errors
/// When the store cannot be read.
pub async fn list_clusters(backend: &dyn Backend) -> Result<Vec<ClusterName>> {
    let names = backend.list_children(&Prefix::root()).await?;
    Ok(names.into_iter().filter_map(|name| ClusterName::new(name).ok()).collect())
}

async fn read_at(backend: &dyn Backend, head: &Head) -> Result<View> {
    let snapshot = match &head.snapshot {
        Some(reference) => Some(read_snapshot(backend, reference).await?),
        None => None,
    };
    let records = if head.deleted {
        refuse_replaced(backend, head).await?;
        Vec::new()
    } else {
        journal::read::records(backend, head).await?
    };
    Ok(View { head: head.clone(), snapshot, records })
}

/// The object that shows that a head is an earlier one, which was put back in the place of a later one: the seal by which a
/// later holder ended its epoch. Seals are never removed.
///
/// Holders seal after they have changed the head, so the caller has read the head before, and reads it again.
pub(crate) async fn later_than(backend: &dyn Backend, head: &Head) -> Result<Option<Key>> {
    let Some(last) = backend.list(&layout::journal(&head.cluster, head.epoch)).await?.pop() else {
        return Ok(None);
    };
    // A segment that is damaged or cannot be opened shows nothing. It is reported where the journal is read.
    let bytes = match backend.get(&last).await {
        Ok(found) => found,
        Err(backend::Error::Corrupt { .. } | backend::Error::Sealed { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (Some(sequence), Some((bytes, _))) = (layout::sequence(&last), bytes) else { return Ok(None) };
    let segment = segment::decode(&last, head.epoch, sequence, &bytes).ok();
    let seal = segment.and_then(|segment| segment.seal).filter(|_| head.is_before_seals());
    let is_later = seal.is_some_and(|seal| seal.by > head.epoch);
    Ok(is_later.then_some(last))
}

/// Refuses a head that was put back in the place of a later one.
async fn refuse_replaced(backend: &dyn Backend, head: &Head) -> Result<()> {
    match later_than(backend, head).await? {
        Some(evidence) => Err(Error::replaced(head, &evidence)),
        None => Ok(()),
    }
}

/// The bytes of a snapshot, checked.
pub(crate) async fn read_snapshot(backend: &dyn Backend, reference: &SnapshotRef) -> Result<Bytes> {
    let key = Key::new(&reference.key)?;
    let Some((bytes, _)) = backend.get(&key).await? else {
        return Err(backend::Error::corrupt(key, "the head names it, and it does not exist").into());
    };
    if Digest::of(&bytes) != reference.digest {
        return Err(backend::Error::corrupt(key, "its digest is not the one that the head names").into());
    }
    Ok(bytes)
}
