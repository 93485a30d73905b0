//! Plans stored beside the state, by their digest: made on one machine, reviewed on another, applied on a
//! third.
//!
//! A stored plan is one immutable object. Its first line names the person who stored it and the generation
//! that it was made for; the plan's own bytes follow. The state store does not interpret these bytes; the
//! digest is the plan's name.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Key};
use crate::clock::SystemClock;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::check_format;
use crate::layout;
use crate::name::{ClusterName, Generation};
use crate::retry::Retry;
use crate::write::{Outcome, Writer};

/// The newest supported format of a stored plan, and the written one. Since format 2, a plan may have steps
/// on the nodes of machines; since format 3, it names the digest of the state that it was made from.
pub const FORMAT: u32 = 3;

/// The minimum number of digits of a digest with which a plan can be found.
pub const FEWEST_DIGITS: usize = 8;

/// A stored plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// Its description.
    pub about: About,
    /// The plan.
    pub bytes: Bytes,
}

/// The description of a stored plan, from its first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// The plan's name.
    pub plan: Digest,
    /// The generation that it may be applied to; 0 for a cluster without a commit.
    pub generation: Generation,
    /// The person who stored it.
    pub who: String,
    /// The time, by the wall clock of that person.
    pub when: Timestamp,
    /// The digest of the bytes that follow.
    pub digest: Digest,
}

/// Stores a plan once: an existing one stays as it is. Returns whether the plan was not stored before.
///
/// # Errors
/// When it cannot be written, or another plan is stored under its digest.
pub async fn store(backend: &Arc<dyn Backend>, plan: &StoredPlan) -> Result<bool> {
    let key = layout::plan(&plan.about.cluster, plan.about.plan);
    let mut bytes = serde_json::to_vec(&plan.about).map_err(|error| backend::Error::corrupt(&key, error))?;
    bytes.push(b'\n');
    bytes.extend_from_slice(&plan.bytes);
    match writer(backend).put(&key, &Bytes::from(bytes), None).await? {
        Outcome::Written(_) => Ok(true),
        Outcome::Taken { value, .. } => {
            // Another ciphertext of the same plan is the same plan.
            decode(&key, &value)?;
            Ok(false)
        }
    }
}

/// The plan of a digest.
///
/// # Errors
/// When it cannot be read or is damaged.
pub async fn read(backend: &dyn Backend, cluster: &ClusterName, plan: Digest) -> Result<Option<StoredPlan>> {
    let key = layout::plan(cluster, plan);
    match backend.get(&key).await? {
        Some((bytes, _)) => decode(&key, &bytes).map(Some),
        None => Ok(None),
    }
}

/// The digests of a cluster's stored plans that begin with these hexadecimal digits, sorted. One listing.
///
/// # Errors
/// When they cannot be listed.
pub async fn find(backend: &dyn Backend, cluster: &ClusterName, digits: &str) -> Result<Vec<Digest>> {
    let keys = backend.list(&layout::plans(cluster)).await?;
    let digests = keys.iter().map(Key::name).filter(|name| name.starts_with(digits));
    Ok(digests.filter_map(|name| format!("sha256:{name}").parse().ok()).collect())
}

/// Reads a stored plan, and checks that it is complete and belongs to this key.
pub(crate) fn decode(key: &Key, bytes: &Bytes) -> Result<StoredPlan> {
    let corrupt = |reason: &str| Error::from(backend::Error::corrupt(key, reason));
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt("it has no header"))?;
    let line = bytes.slice(..end);
    check_format(key, &line, FORMAT)?;
    let about: About = serde_json::from_slice(&line).map_err(|error| backend::Error::corrupt(key, error))?;
    let body = bytes.slice(end + 1..);
    if layout::plan(&about.cluster, about.plan) != *key {
        return Err(corrupt(&format!("it is plan {} of {}", about.plan, about.cluster)));
    }
    if Digest::of(&body) != about.digest {
        return Err(corrupt("its digest does not match"));
    }
    Ok(StoredPlan { about, bytes: body })
}

/// A writer for records that need no hold: each is written once, with the same bytes from any writer.
pub(crate) fn writer(backend: &Arc<dyn Backend>) -> Writer {
    Writer { backend: backend.clone(), clock: Arc::new(SystemClock), retry: Retry::default() }
}
