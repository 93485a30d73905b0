//! Runs that ended without a commit: stopped, failed, or killed and taken over.
//!
//! The head describes only the last of them, and only until the next commit. Each such run also has a
//! permanent record. A holder that ends writes it itself. For a killed holder, the next one writes it before
//! anything else.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key};
use crate::error::Result;
use crate::head::{CommitMeta, Head, Outcome, check_format};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, Generation};
use crate::readable::{Readable, opened};
use crate::state::{self, View};
use crate::write::{Outcome as Written, Writer};

/// The newest supported format of a record, and the written one.
pub const FORMAT: u32 = 1;

/// How many records are fetched at once.
const AT_ONCE: usize = 16;

/// Describes the work of a run from its journal, in a sentence; `None` when the journal does not show it.
pub type Describe = fn(&View) -> Option<String>;

/// A run that ended without a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// The uid, which tells clusters of one name apart.
    pub uid: ClusterUid,
    /// The epoch in which it ran.
    pub epoch: Epoch,
    /// The generation at its start.
    pub generation: Generation,
    /// The operator, time, operation and outcome.
    pub run: CommitMeta,
}

impl Run {
    /// A run that ended in the epoch of a head.
    pub(crate) fn ended(head: &Head, run: CommitMeta) -> Self {
        Self {
            format: FORMAT,
            cluster: head.cluster.clone(),
            uid: head.uid.clone(),
            epoch: head.epoch,
            generation: head.generation,
            run,
        }
    }

    /// The interrupted run of a head's holder; `None` when the head has no holder.
    pub fn interrupted(head: &Head, detail: Option<String>) -> Option<Self> {
        let holder = head.holder.as_ref()?;
        let run = CommitMeta {
            operation: holder.operation.clone(),
            who: holder.who.clone(),
            when: holder.since,
            outcome: Outcome::Interrupted,
            detail,
            ..CommitMeta::default()
        };
        Some(Self::ended(head, run))
    }

    pub(crate) fn decode(key: &Key, bytes: &[u8]) -> Result<Self> {
        check_format(key, bytes, FORMAT)?;
        let run: Self = serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(key, error))?;
        if layout::run(&run.cluster, run.epoch) != *key {
            let reason = format!("it is the run of epoch {} of {}", run.epoch, run.cluster);
            return Err(backend::Error::corrupt(key, reason).into());
        }
        Ok(run)
    }
}

/// Records how a run ended. It replaces the record of another process that assumed the run to be dead and did
/// not take over.
pub(crate) async fn end(writer: &Writer, run: &Run) -> Result<()> {
    let (key, bytes) = encode(run)?;
    let mut expected = None;
    loop {
        match writer.put(&key, &bytes, expected.as_ref()).await? {
            Written::Written(_) => return Ok(()),
            Written::Taken { value, .. }
                if Run::decode(&key, &value)?.run.outcome != Outcome::Interrupted =>
            {
                return Ok(());
            }
            Written::Taken { tag, .. } => expected = Some(tag),
        }
    }
}

fn encode(run: &Run) -> Result<(Key, Bytes)> {
    let key = layout::run(&run.cluster, run.epoch);
    let mut bytes = serde_json::to_vec_pretty(run).map_err(|error| backend::Error::corrupt(&key, error))?;
    bytes.push(b'\n');
    Ok((key, Bytes::from(bytes)))
}

/// Writes the record of a run. An existing record stays as it is.
async fn keep(writer: &Writer, run: &Run) -> Result<bool> {
    let (key, bytes) = encode(run)?;
    Ok(writer.keep(&layout::runs(&run.cluster), &key, &bytes).await?)
}

/// Writes the record of a holder that is about to be replaced. Returns its run, and whether there was no record of it.
pub(crate) async fn keep_interrupted(
    writer: &Writer,
    head: &Head,
    describe: Option<Describe>,
) -> Result<Option<(CommitMeta, bool)>> {
    let detail = match describe {
        // A takeover does not need a readable journal.
        Some(describe) => match state::read(&*writer.backend, &head.cluster).await {
            Ok(view) => view.as_ref().and_then(describe),
            Err(_) => None,
        },
        None => None,
    };
    match Run::interrupted(head, detail) {
        Some(run) => {
            let is_new = keep(writer, &run).await?;
            Ok(Some((run.run, is_new)))
        }
        None => Ok(None),
    }
}

/// Removes the record of a holder that turned out to be alive and still holds the cluster.
pub(crate) async fn take_back(writer: &Writer, head: &Head) -> Result<()> {
    let now = state::read_head(&*writer.backend, &head.cluster).await?;
    if now.is_none_or(|(now, _)| now.epoch != head.epoch || now.holder.is_none()) {
        // Another holder took over, and the record is right.
        return Ok(());
    }
    let key = layout::run(&head.cluster, head.epoch);
    match writer.backend.delete(&key).await {
        Err(backend::Error::NotFound { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The runs of a cluster that ended without a commit, the newest first. It takes one listing, and one call for each. Records that no
/// key at hand opens are passed over.
///
/// # Errors
/// When a record cannot be read for another reason.
pub async fn list(backend: &dyn Backend, cluster: &ClusterName) -> Result<Readable<Run>> {
    let keys = backend.list(&layout::runs(cluster)).await?;
    let fetched = stream::iter(keys.into_iter().rev()).map(|key| async move {
        let read = fetch(backend, &key).await;
        opened(key, read)
    });
    let runs: Vec<_> = fetched.buffered(AT_ONCE).try_collect().await?;
    Ok(Readable::of(runs.into_iter().flatten()))
}

async fn fetch(backend: &dyn Backend, key: &Key) -> Result<Option<Run>> {
    match backend.get(key).await? {
        Some((bytes, _)) => Run::decode(key, &bytes).map(Some),
        None => Ok(None),
    }
}
