//! Runs that ended without a commit: stopped, failed, or killed and taken over.
//!
//! The head tells of the last one only, and only until the next commit. Each such run has a record of its own, which
//! stays. A holder that ends writes it itself; of one that was killed, whoever takes over writes it, before anything else.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key};
use crate::error::Result;
use crate::head::{CommitMeta, Head, Outcome, check_format};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, Generation};
use crate::state::{self, View};
use crate::write::{Outcome as Written, Writer};

/// The newest format of a record that is understood, and the one that is written.
pub const FORMAT: u32 = 1;

/// How many records are fetched at once.
const AT_ONCE: usize = 16;

/// What the journal of a run says that it did, in a sentence; nothing when that cannot be told.
pub type Describe = fn(&View) -> Option<String>;

/// A run that ended without a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// Which of the clusters of that name.
    pub uid: ClusterUid,
    /// The epoch in which it ran.
    pub epoch: Epoch,
    /// The generation that it began with.
    pub generation: Generation,
    /// Who, when, by what, and how it ended.
    pub run: CommitMeta,
}

impl Run {
    /// A run that ended in the epoch that a head tells of.
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

    /// The run of the holder that a head tells of, which did not end it; nothing when nobody holds the cluster.
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

/// Records how a run ended. The record of the run itself replaces the record of another process that took the run for dead
/// and did not take over.
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

/// Writes a run down. One that was written down before stays as it is.
async fn keep(writer: &Writer, run: &Run) -> Result<bool> {
    let (key, bytes) = encode(run)?;
    Ok(matches!(writer.put(&key, &bytes, None).await?, Written::Written(_)))
}

/// Writes down the run of a holder that is about to be replaced. Returns whether it was not written down before.
pub(crate) async fn keep_interrupted(
    writer: &Writer,
    head: &Head,
    describe: Option<Describe>,
) -> Result<bool> {
    let detail = match describe {
        // A journal that cannot be read is no reason not to take over.
        Some(describe) => match state::read(&*writer.backend, &head.cluster).await {
            Ok(view) => view.as_ref().and_then(describe),
            Err(_) => None,
        },
        None => None,
    };
    match Run::interrupted(head, detail) {
        Some(run) => keep(writer, &run).await,
        None => Ok(false),
    }
}

/// Takes back what was written of a holder that turned out to be alive: it holds the cluster still.
pub(crate) async fn take_back(writer: &Writer, head: &Head) -> Result<()> {
    let now = state::read_head(&*writer.backend, &head.cluster).await?;
    if now.is_none_or(|(now, _)| now.epoch != head.epoch || now.holder.is_none()) {
        // Somebody else took over, and tells the same.
        return Ok(());
    }
    let key = layout::run(&head.cluster, head.epoch);
    match writer.backend.delete(&key).await {
        Err(backend::Error::NotFound { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The runs of a cluster that ended without a commit, the newest first. It takes one listing, and one call for each.
///
/// # Errors
/// When a record cannot be read.
pub async fn list(backend: &dyn Backend, cluster: &ClusterName) -> Result<Vec<Run>> {
    let keys = backend.list(&layout::runs(cluster)).await?;
    let fetched = stream::iter(keys.into_iter().rev()).map(|key| async move {
        match backend.get(&key).await? {
            Some((bytes, _)) => Run::decode(&key, &bytes).map(Some),
            None => Ok(None),
        }
    });
    let runs: Vec<Option<Run>> = fetched.buffered(AT_ONCE).try_collect().await?;
    Ok(runs.into_iter().flatten().collect())
}
