//! The one mutable object of a cluster: it names the holder and the immutable objects of the state.

pub(crate) mod belief;
pub mod contend;
pub mod protocol;
pub mod tenure;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_limits::count;

use crate::backend::{self, Key};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, Generation, HolderId, Sequence};
use crate::process::Process;

/// The newest supported format of a head, and the written one.
///
/// Format 2 adds the run that ended without a commit, and more facts about each commit.
pub const FORMAT: u32 = 2;

/// The one mutable object of a cluster. It is never deleted, and written by compare-and-swap only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// [`FORMAT`].
    pub format: u32,
    /// The cluster, so that a head that was copied elsewhere is detected.
    pub cluster: ClusterName,
    /// The uid, which tells clusters of one name apart.
    pub uid: ClusterUid,
    /// The number of commits.
    pub generation: Generation,
    /// The number of takeovers.
    pub epoch: Epoch,
    /// The holder, if there is one.
    pub holder: Option<Holding>,
    /// The state as of this generation; none before the first commit, and after the cluster was deleted.
    pub snapshot: Option<SnapshotRef>,
    /// The first segment of the journal that the snapshot does not include.
    pub journal_from: JournalStart,
    /// The commit that made this generation.
    pub last_commit: Option<CommitMeta>,
    /// The run that ended since without a commit, as after a failed step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<CommitMeta>,
    /// Whether the cluster was deleted: the head is its tombstone.
    pub deleted: bool,
    /// Random, and new for each write, so that equal contents never look like an unchanged object.
    pub salt: String,
}

/// The holder of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// New for each takeover.
    pub id: HolderId,
    /// The person or the robot, as `user@host`.
    pub who: String,
    /// The operation of the holder.
    pub operation: String,
    /// The process of the holder.
    pub process: Process,
    /// Start of the hold, by the holder's wall clock. For messages only; it does not decide whether a lease
    /// has ended.
    pub since: Timestamp,
    /// The lease of the holder.
    pub lease: Lease,
}

/// The promise of a holder: to change the head within each term, or to write nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The term, in seconds.
    pub term_seconds: u64,
    /// The number of renewals of the lease.
    pub renewals: u64,
}

/// Names a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRef {
    /// Its key.
    pub key: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// The start of the journal that a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalStart {
    /// The epoch; all earlier ones are sealed and included.
    pub epoch: Epoch,
    /// The first segment of that epoch which is not included.
    pub sequence: Sequence,
    /// The digest of the segment before it in the same epoch.
    pub previous: Option<Digest>,
}

impl Lease {
    /// The term, at most a day even if a damaged or forged head names more: a contender waits for its end.
    pub fn term(&self) -> Duration {
        Duration::from_secs(self.term_seconds.min(count::LEASE_SECONDS))
    }
}

impl JournalStart {
    /// The beginning of an epoch.
    pub fn of(epoch: Epoch) -> Self {
        Self { epoch, sequence: Sequence(0), previous: None }
    }
}

/// The operator, time and operation of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitMeta {
    /// The operation: `apply`, `delete`, …
    pub operation: String,
    /// The digest of the plan that was carried out.
    pub plan_digest: Option<String>,
    /// The person or the robot, as `user@host`.
    pub who: String,
    /// The time, by the wall clock of the operator.
    pub when: Timestamp,
    /// The outcome.
    #[serde(default)]
    pub outcome: Outcome,
    /// A sentence on the effect, where the operation alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Facts about the cluster for lists: its provider, its version. The state store does not interpret them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All steps are done.
    #[default]
    Complete,
    /// All decided changes are done; an object could not be read.
    Deferred,
    /// A step failed.
    Failed,
    /// It was stopped.
    Stopped,
    /// It was killed, or lost its hold to another holder. No head has this outcome, only the record of a run.
    Interrupted,
}

impl Outcome {
    /// The word for the outcome.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Deferred => "deferred",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Head {
    /// Whether a seal by a later holder shows that this head is an old one. Holders that wrote the first format sealed the journal
    /// before they changed the head, so one that was killed between the two left such a seal beside the newest head.
    pub(crate) fn is_before_seals(&self) -> bool {
        self.format > 1
    }

    /// The head as it is stored: JSON for human readers, with a line end.
    pub(crate) fn encode(&self) -> Result<Bytes> {
        // A head of an older format is written in the newest one.
        let newest = Self { format: FORMAT, ..self.clone() };
        let mut bytes = serde_json::to_vec_pretty(&newest)
            .map_err(|error| backend::Error::corrupt(layout::head(&self.cluster), error))?;
        bytes.push(b'\n');
        Ok(Bytes::from(bytes))
    }

    /// Decodes the stored head of `cluster`.
    pub(crate) fn decode(cluster: &ClusterName, bytes: &[u8]) -> Result<Self> {
        let key = layout::head(cluster);
        check_format(&key, bytes, FORMAT)?;
        let head: Self =
            serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(&key, error))?;
        if head.cluster != *cluster {
            let reason = format!("it is the head of {}", head.cluster);
            return Err(backend::Error::corrupt(&key, reason).into());
        }
        // No name of an object would hold the numbers after these.
        if head.epoch.0.max(head.generation.0) >= layout::GREATEST {
            let reason = format!(
                "its epoch {} or its generation {} is greater than any that a cluster reaches",
                head.epoch, head.generation
            );
            return Err(backend::Error::corrupt(&key, reason).into());
        }
        Ok(head)
    }
}

/// Refuses an object of a newer Slipway, before the rest of it is decoded.
pub(crate) fn check_format(key: &Key, bytes: &[u8], supported: u32) -> Result<()> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u64,
    }
    let Versioned { format } =
        serde_json::from_slice(bytes).map_err(|error| backend::Error::corrupt(key, error))?;
    if format > u64::from(supported) {
        return Err(Error::NewerFormat { key: key.to_string(), found: format, supported });
    }
    if format == 0 {
        return Err(backend::Error::corrupt(key, "there is no format 0").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::protocol::tests::{claim, new_head};
    use super::*;

    #[test]
    fn stored_and_read_back() {
        let head = new_head(&claim("ada"));
        let bytes = head.encode().unwrap();
        assert_eq!(Head::decode(&head.cluster, &bytes).unwrap(), head);
        let other = ClusterName::new("other").unwrap();
        assert_eq!(Head::decode(&other, &bytes).unwrap_err().code(), "STATE0007");
    }

    #[test]
    fn numbers_that_no_cluster_reaches_are_refused() {
        let whole = new_head(&claim("ada"));
        for number in [layout::GREATEST, u64::MAX] {
            let later = Head { epoch: Epoch(number), ..whole.clone() };
            let longer = Head { generation: Generation(number), ..whole.clone() };
            for head in [later, longer] {
                let error = Head::decode(&head.cluster, &head.encode().unwrap()).unwrap_err();
                assert_eq!(error.code(), "STATE0007");
            }
        }
        let far = Head { epoch: Epoch(layout::GREATEST - 1), ..whole };
        assert!(Head::decode(&far.cluster, &far.encode().unwrap()).is_ok());
    }

    #[test]
    fn a_newer_format_is_named_as_such_whatever_else_it_has() {
        let cluster = ClusterName::new("prod").unwrap();
        let error = Head::decode(&cluster, br#"{"format": 3, "surprise": []}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "prod/head was written by a newer Slipway: its format is 3, this one reads up to 2"
        );
        for damaged in [&b""[..], b"{}", b"{\"format\": 1}", b"{\"format\": 0}", b"[1]"] {
            assert_eq!(Head::decode(&cluster, damaged).unwrap_err().code(), "STATE0007");
        }
    }
}
