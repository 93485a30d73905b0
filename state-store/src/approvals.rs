//! Approvals of plans. An approval names a plan by its digest, so it cannot apply to another plan.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key, Prefix};
use crate::digest::Digest;
use crate::error::Result;
use crate::head::check_format;
use crate::layout;
use crate::name::{ClusterName, Generation};
use crate::plans;
use crate::readable::{Readable, opened};
use crate::write::Outcome;

/// The newest supported format of an approval, and the written one.
pub const FORMAT: u32 = 1;

/// How many approvals are fetched at once.
const AT_ONCE: usize = 16;

/// The approval of one plan by one person. Each person has one for a plan. It never changes, and its person can take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// The plan.
    pub plan: Digest,
    /// The generation that the plan may be applied to; 0 for a cluster without a commit.
    pub generation: Generation,
    /// Identifies the person, on any machine.
    pub person: String,
    /// The person, as `user@host` in messages.
    pub who: String,
    /// The time of the approval, by the wall clock of the approver.
    pub when: Timestamp,
    /// The comment of the approver.
    pub comment: Option<String>,
}

impl Approval {
    pub(crate) fn key(&self) -> Key {
        layout::approval(&self.cluster, self.plan, Digest::of(self.person.as_bytes()))
    }

    pub(crate) fn decode(key: &Key, bytes: &[u8]) -> Result<Self> {
        check_format(key, bytes, FORMAT)?;
        let approval: Self =
            serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(key, error))?;
        if approval.key() != *key {
            let reason = format!("it is the approval of plan {} by {}", approval.plan, approval.person);
            return Err(backend::Error::corrupt(key, reason).into());
        }
        Ok(approval)
    }
}

/// Stores an approval. Returns the valid one: the first, if the person approved the plan before.
///
/// # Errors
/// When it cannot be written.
pub async fn approve(backend: &Arc<dyn Backend>, approval: Approval) -> Result<Approval> {
    let key = approval.key();
    let mut bytes =
        serde_json::to_vec_pretty(&approval).map_err(|error| backend::Error::corrupt(&key, error))?;
    bytes.push(b'\n');
    match plans::writer(backend).put(&key, &Bytes::from(bytes), None).await? {
        Outcome::Written(_) => Ok(approval),
        Outcome::Taken { value, .. } => Approval::decode(&key, &value),
    }
}

/// Removes the approval of a plan by a person. Returns it; `None` if there is none. A run that has counted it already goes on.
///
/// # Errors
/// When it cannot be read or removed, or is damaged.
pub async fn revoke(
    backend: &dyn Backend,
    cluster: &ClusterName,
    plan: Digest,
    person: &str,
) -> Result<Option<Approval>> {
    let key = layout::approval(cluster, plan, Digest::of(person.as_bytes()));
    let Some((bytes, _)) = backend.get(&key).await? else { return Ok(None) };
    let approval = Approval::decode(&key, &bytes)?;
    backend.delete(&key).await?;
    Ok(Some(approval))
}

/// The approvals of a plan, the earliest first, each by another person.
///
/// # Errors
/// When one cannot be read or is damaged.
pub async fn of(backend: &dyn Backend, cluster: &ClusterName, plan: Digest) -> Result<Vec<Approval>> {
    let mut approvals = read(backend, &layout::approvals_of(cluster, plan)).await?;
    approvals.sort_by(|left, right| left.when.cmp(&right.when).then_with(|| left.person.cmp(&right.person)));
    Ok(approvals)
}

/// The approvals below a prefix, in the order of their keys.
async fn read(backend: &dyn Backend, prefix: &Prefix) -> Result<Vec<Approval>> {
    let keys = backend.list(prefix).await?;
    let fetch = |key: Key| async move { fetch(backend, &key).await };
    let fetched: Vec<Option<Approval>> =
        stream::iter(keys).map(fetch).buffered(AT_ONCE).try_collect().await?;
    Ok(fetched.into_iter().flatten().collect())
}

/// All approvals of a cluster, in the order of their keys. Those that no key at hand opens are passed over.
pub(crate) async fn readable(backend: &dyn Backend, cluster: &ClusterName) -> Result<Readable<Approval>> {
    let keys = backend.list(&layout::approvals(cluster)).await?;
    let fetch = |key: Key| async move {
        let read = fetch(backend, &key).await;
        opened(key, read)
    };
    let fetched: Vec<_> = stream::iter(keys).map(fetch).buffered(AT_ONCE).try_collect().await?;
    Ok(Readable::of(fetched.into_iter().flatten()))
}

async fn fetch(backend: &dyn Backend, key: &Key) -> Result<Option<Approval>> {
    match backend.get(key).await? {
        Some((bytes, _)) => Approval::decode(key, &bytes).map(Some),
        None => Ok(None),
    }
}
