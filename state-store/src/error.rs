//! Errors of a cluster's state.

use std::time::Duration;

use crate::backend::{self, Key};
use crate::head::{Head, Holding};
use crate::name::{ClusterName, Epoch, Generation};

/// A result of the state store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a cluster's state. It can be cloned: records that shared a write share its failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// One object could not be read or written.
    #[error(transparent)]
    Backend(#[from] backend::Error),
    /// Another holder has the cluster.
    #[error(
        "{cluster} is held by {} (process {} on {}), who runs `{}` since {:.0}, for {} s",
        holder.who, holder.process.pid, holder.process.host, holder.operation, holder.since, held_for.as_secs()
    )]
    Held {
        /// The cluster.
        cluster: ClusterName,
        /// The holder, its operation, the start by its wall clock, and its lease. A holder that is silent for
        /// its term is replaced by a contender that waits longer than the term.
        holder: Box<Holding>,
        /// For how long it is held already, by the wall clocks of both.
        held_for: Duration,
    },
    /// This holder was replaced: it can write nothing any more.
    #[error("the hold on {cluster} of epoch {epoch} was lost to {}", by.as_deref().unwrap_or("somebody who has let it go since"))]
    Lost {
        /// The cluster.
        cluster: ClusterName,
        /// The epoch that was lost.
        epoch: Epoch,
        /// The present holder.
        by: Option<String>,
    },
    /// This holder could not renew its lease in time. No takeover is known, but one is possible: no new call
    /// may begin until a renewal succeeds.
    #[error("the hold on {cluster} of epoch {epoch} could not be renewed in time")]
    Lapsed {
        /// The cluster.
        cluster: ClusterName,
        /// The epoch that is held.
        epoch: Epoch,
    },
    /// The cluster does not exist, or was deleted, and the caller did not ask to create it.
    #[error("there is no cluster {cluster} in this state store")]
    NoCluster {
        /// The cluster.
        cluster: ClusterName,
    },
    /// The cluster has no head, and other objects show that it had one. Its state is lost, and no new state
    /// is created over it.
    #[error("the head of {cluster} is missing, and {evidence} shows that there was one: its state is lost")]
    HeadLost {
        /// The cluster.
        cluster: ClusterName,
        /// One of the remaining objects.
        evidence: String,
    },
    /// The head is an earlier one: a later holder has ended its epoch. Somebody put a copy of it back.
    #[error(
        "the head of {cluster} is an old one, of generation {generation} in epoch {epoch}: {evidence} shows a later epoch"
    )]
    HeadReplaced {
        /// The cluster.
        cluster: ClusterName,
        /// The generation of the old head.
        generation: Generation,
        /// Its epoch.
        epoch: Epoch,
        /// The seal of the later holder.
        evidence: String,
    },
    /// The object was written by a newer Slipway.
    #[error("{key} was written by a newer Slipway: its format is {found}, this one reads up to {supported}")]
    NewerFormat {
        /// The object.
        key: String,
        /// Its format.
        found: u64,
        /// The newest supported format.
        supported: u32,
    },
    /// A commit was requested while appends were in progress: the snapshot might not include their records.
    #[error("{cluster} cannot be committed while {pending} appends are under way")]
    AppendsUnderWay {
        /// The cluster.
        cluster: ClusterName,
        /// The number of appends.
        pending: usize,
    },
    /// A record is not one JSON value on one line.
    #[error("record {index} is not a JSON value on one line")]
    InvalidRecord {
        /// The index of the record in the call, from 0.
        index: usize,
    },
    /// A text that cannot be a name or a uid.
    #[error("`{name}` cannot be used: {reason}")]
    InvalidName {
        /// The text.
        name: String,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// The holder was closed or released before.
    #[error("the hold on {cluster} has ended")]
    Ended {
        /// The cluster.
        cluster: ClusterName,
    },
    /// There is no such generation, or its record was removed.
    #[error("{cluster} has no generation {generation} on record; the newest is {newest}")]
    NoGeneration {
        /// The cluster.
        cluster: ClusterName,
        /// The requested generation.
        generation: Generation,
        /// The newest generation.
        newest: Generation,
    },
    /// The generation has a record, but its state is not kept.
    #[error("the state of generation {generation} of {cluster} is not kept")]
    NotKept {
        /// The cluster.
        cluster: ClusterName,
        /// The generation.
        generation: Generation,
    },
    /// The file is not an archive of a state, or not a complete one.
    #[error("this is not a whole archive of a state: {reason}")]
    NotAnArchive {
        /// Why not.
        reason: String,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

impl Error {
    /// The stable code, which has a page in `docs/errors/`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Backend(error) => error.code(),
            Self::Held { .. } => "STATE0011",
            Self::Lost { .. } => "STATE0012",
            Self::Lapsed { .. } => "STATE0013",
            Self::NoCluster { .. } => "STATE0014",
            Self::HeadLost { .. } => "STATE0050",
            Self::HeadReplaced { .. } => "STATE0070",
            Self::NewerFormat { .. } => backend::error::NEWER_FORMAT,
            Self::AppendsUnderWay { .. } => "STATE0016",
            Self::InvalidRecord { .. } => "STATE0017",
            Self::InvalidName { .. } => "STATE0018",
            Self::Ended { .. } => "STATE0019",
            Self::Random => backend::error::RANDOM,
            Self::NoGeneration { .. } => "STATE0040",
            Self::NotKept { .. } => "STATE0041",
            Self::NotAnArchive { .. } => "STATE0042",
        }
    }

    pub(crate) fn replaced(head: &Head, evidence: &Key) -> Self {
        Self::HeadReplaced {
            cluster: head.cluster.clone(),
            generation: head.generation,
            epoch: head.epoch,
            evidence: evidence.to_string(),
        }
    }

    /// Whether this holder was replaced, so that its run has to end.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}
