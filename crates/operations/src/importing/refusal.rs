//! Why the state of an archive is not put in the place of the present one.

use slipway_state_store::{ClusterName, ClusterUid, Generation};

use crate::code;

/// Why the state of an archive is not put in the place of the present one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The description of the archive and its state do not name the same cluster.
    #[error("the archive says that it is of {cluster}, and its state is of {found}")]
    OfAnother {
        /// The cluster in the description.
        cluster: ClusterName,
        /// The cluster in the state.
        found: String,
    },
    /// The archive is of another cluster of the same name.
    #[error(
        "the archive is of another cluster of the name {cluster}: its unique id is {archived}, that of the store is {present}, \
         at generation {now}"
    )]
    OtherCluster {
        /// The name of both.
        cluster: ClusterName,
        /// The unique id in the archive.
        archived: ClusterUid,
        /// The unique id in the store.
        present: ClusterUid,
        /// The present generation.
        now: Generation,
    },
    /// Another generation may be replaced than the present one.
    #[error("{cluster} is at generation {now}, and `--force` names {named}")]
    OtherGeneration {
        /// The cluster.
        cluster: ClusterName,
        /// The present generation.
        now: Generation,
        /// The generation that may be replaced.
        named: u64,
    },
    /// The present state is as new as that of the archive, or newer.
    #[error("{cluster} is at generation {now}, and the archive is of generation {archived}")]
    Newer {
        /// The cluster.
        cluster: ClusterName,
        /// The present generation.
        now: Generation,
        /// The generation of the archive.
        archived: Generation,
    },
    /// A generation was committed while the import was decided.
    #[error("{cluster} came to generation {now} in the meantime")]
    Moved {
        /// The cluster.
        cluster: ClusterName,
        /// The present generation.
        now: Generation,
    },
    /// The history of the present state does not have the generation of the archive.
    #[error(
        "the history of the store has no generation {generation} of {cluster}, so nothing tells whether the archive was changed"
    )]
    NoHistory {
        /// The cluster.
        cluster: ClusterName,
        /// The generation of the archive.
        generation: Generation,
        /// The present generation.
        now: Generation,
    },
    /// The archive has another state than the history of the store has of its generation.
    #[error(
        "the archive is not generation {generation} of {cluster}: its state has another digest than the history of the store"
    )]
    OtherDigest {
        /// The cluster.
        cluster: ClusterName,
        /// The generation of the archive.
        generation: Generation,
    },
}

impl Refusal {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::OfAnother { .. } => "CLI0112",
            Self::OtherGeneration { .. } => "CLI0113",
            Self::Newer { .. } => "CLI0033",
            Self::Moved { .. } => code::CHANGED_MEANWHILE,
            Self::OtherCluster { .. } => "CLI0091",
            Self::NoHistory { .. } | Self::OtherDigest { .. } => "CLI0095",
        }
    }

    /// A way out.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OfAnother { .. } | Self::OtherGeneration { .. } => None,
            Self::OtherCluster { present, now, .. } => Some(format!(
                "`--force {now} --confirm {present}` gives the cluster in the store up: what it has in the cloud carries its \
                 unique id, and Slipway does not find it any more"
            )),
            Self::Newer { now, .. } => {
                Some(format!("`--force {now}` gives that state up; its generation stays in the history"))
            }
            Self::Moved { .. } => Some("look at `slipway state history`, and try again".to_owned()),
            Self::NoHistory { now, .. } => Some(format!(
                "check where the archive comes from; `--force {now}` imports it all the same, in place of generation {now}"
            )),
            Self::OtherDigest { cluster, generation } => Some(format!(
                "`slipway state export {cluster} --generation {generation}` exports it as it was committed, as long as the \
                 store has it"
            )),
        }
    }
}
