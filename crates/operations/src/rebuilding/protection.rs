//! Whether a cluster whose state is rebuilt is protected from deletion.

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_state_store::{Backend, ClusterName, history};

use crate::protection::{Known, is_set, set};
use crate::state::{committed, protection_of};

/// How many earlier generations are tried, from the newest on.
const GENERATIONS: usize = 16;

/// The protection of a rebuilt state, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The spec protects the cluster.
    Written,
    /// The spec does not say it, and the remains of the state say whether the cluster was protected.
    Recorded(bool),
    /// Nothing tells. The cluster is protected until an apply of its spec says otherwise.
    Unknown,
}

impl Protection {
    /// Whether the rebuilt state refuses the deletion of the cluster.
    #[must_use]
    pub fn is_set(self) -> bool {
        !matches!(self, Self::Recorded(false))
    }

    /// The protection of a cluster, with the spec for its state and what the store has of the old one.
    pub(super) fn of(spec: &serde_json::Value, recorded: Option<bool>) -> Self {
        match recorded {
            _ if is_set(spec) => Self::Written,
            Some(recorded) => Self::Recorded(recorded),
            None => Self::Unknown,
        }
    }

    /// Writes it into the spec that the rebuilt state has.
    pub(super) fn write(self, spec: &mut serde_json::Value) {
        set(spec, self.is_set());
    }
}

/// The recorded protection of a cluster: from its state, or from the newest readable generation. `None` where
/// nothing can be read.
pub(crate) async fn recorded(backend: &dyn Backend, cluster: &ClusterName) -> Option<bool> {
    if let Ok(Some(state)) = State::read(backend, cluster.as_str()).await
        && let Ok(known) = protection_of(Some(backend), cluster.as_str(), Some(&state)).await
        && known != Known::default()
    {
        return Some(known.is_protected());
    }
    readable(backend, cluster).await.map(|snapshot| is_set(&snapshot.spec))
}

/// The newest generation of a cluster that can be read.
pub(crate) async fn readable(backend: &dyn Backend, cluster: &ClusterName) -> Option<Snapshot> {
    if let Ok(Some(snapshot)) = committed(backend, cluster.as_str()).await {
        return Some(snapshot);
    }
    for entry in history::readable(backend, cluster, GENERATIONS).await.ok()?.records {
        if let Ok(bytes) = history::snapshot(backend, &entry).await
            && let Ok(snapshot) = State::snapshot_of(cluster.as_str(), &bytes)
        {
            return Some(snapshot);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_known_to_be_unprotected_is_unprotected() {
        let of = |written: bool, recorded: Option<bool>| {
            let mut spec = json!({ "deletionProtection": written });
            Protection::of(&spec, recorded).write(&mut spec);
            is_set(&spec)
        };
        assert!(of(true, Some(false)) && of(false, Some(true)) && of(false, None));
        assert!(!of(false, Some(false)));
    }
}
