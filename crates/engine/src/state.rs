//! A cluster's state as it is stored: the last snapshot, and what the journal has since.

use slipway_plan::state::NEWEST;
use slipway_plan::{Continued, Record, Snapshot};
use slipway_resource::{Address, ClusterUid, Digest, Identity};
use slipway_state_store::{Backend, ClusterName, Head, View};

use crate::error::Error;
use crate::journal::Entry;
use crate::recover::Unresolved;
use crate::replay::Replayed;

pub use crate::replay::{OpenRun, OpenStep};

/// The state of a cluster, with its interrupted run.
#[derive(Clone, Debug)]
pub struct State {
    /// The head.
    pub head: Head,
    /// The resources, with what the journal has since the last commit.
    pub snapshot: Snapshot,
    /// The replayed journal of an interrupted run.
    pub replayed: Replayed,
    /// Interrupted steps about which [`recover`](crate::recover) could not ask their providers.
    pub unresolved: Vec<Unresolved>,
}

impl State {
    /// Reads the state of a cluster; `None` for one that never was or that was deleted. Writes nothing.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or was written by a newer Slipway.
    pub async fn read(backend: &dyn Backend, cluster: &str) -> Result<Option<Self>, Error> {
        let store = |source| Error::store(cluster, source);
        let name = ClusterName::new(cluster).map_err(store)?;
        match slipway_state_store::read(backend, &name).await.map_err(store)? {
            Some(view) if !view.head.deleted => Self::of_view(cluster, view).map(Some),
            _ => Ok(None),
        }
    }

    /// The state that a view of the store holds.
    ///
    /// # Errors
    /// When it is damaged or was written by a newer Slipway.
    pub fn of_view(cluster: &str, view: View) -> Result<Self, Error> {
        let mut snapshot = match &view.snapshot {
            None => Snapshot::empty(cluster, ClusterUid::new(view.head.uid.as_str())),
            Some(bytes) => Self::snapshot_of(cluster, bytes)?,
        };
        let mut replayed = Replayed::default();
        for record in &view.records {
            let corrupt = |source| Error::Corrupt { cluster: cluster.to_owned(), what: "journal", source };
            let entry: Entry = serde_json::from_slice(&record.value).map_err(corrupt)?;
            replayed.apply(&mut snapshot, entry);
        }
        Ok(Self { head: view.head, snapshot, replayed, unresolved: Vec::new() })
    }

    /// The resources that the bytes of a snapshot have.
    ///
    /// # Errors
    /// When it is damaged or was written by a newer Slipway.
    pub fn snapshot_of(cluster: &str, bytes: &[u8]) -> Result<Snapshot, Error> {
        let corrupt = |source| Error::Corrupt { cluster: cluster.to_owned(), what: "snapshot", source };
        let Format { format: found } = serde_json::from_slice(bytes).map_err(corrupt)?;
        if found > NEWEST {
            return Err(Error::NewerFormat { cluster: cluster.to_owned(), found, supported: NEWEST });
        }
        let mut snapshot: Snapshot = serde_json::from_slice(bytes).map_err(corrupt)?;
        // A list that is read has room for four addresses, and most records depend on one.
        snapshot.resources.values_mut().for_each(|record| record.depends_on.shrink_to_fit());
        Ok(snapshot)
    }

    /// How far a run came that did not end, in a sentence for the history; nothing when the state cannot be read.
    #[must_use]
    pub fn progress(view: &View) -> Option<String> {
        let state = Self::of_view(view.head.cluster.as_str(), view.clone()).ok()?;
        let done = state.replayed.run.as_ref().map_or(0, |run| run.done.len());
        let steps = |count: usize| if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
        Some(match (done, state.replayed.open.len() + state.replayed.unsettled.len()) {
            _ if !state.is_interrupted() => "nothing was begun".to_owned(),
            (done, 0) => format!("{} done", steps(done)),
            (done, open) => format!("{} done, {open} under way", steps(done)),
        })
    }

    /// The digest of the stored state of a head, as plans name the state that they were made from; `None` before the first
    /// commit, and after the cluster was deleted.
    #[must_use]
    pub fn digest_of(head: &Head) -> Option<Digest> {
        head.snapshot.as_ref().and_then(|snapshot| Digest::parse(&snapshot.digest.to_string()))
    }

    /// Whether an earlier run was interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        let Replayed { run, open, unsettled, .. } = &self.replayed;
        run.is_some() || !open.is_empty() || !unsettled.is_empty()
    }
}

impl State {
    /// The run that did not end, as a plan names it that is made from its results. `None` if it has done nothing, or if the results of
    /// its steps are not known.
    #[must_use]
    pub fn continued(&self) -> Option<Continued> {
        let run = self.replayed.run.as_ref().filter(|_| !self.has_open_steps())?;
        let done = run.before + run.done.len() as u64;
        (done > 0).then(|| Continued { plan: run.plan.clone(), epoch: run.epoch, done })
    }

    /// Whether steps began and did not end: their results are not known.
    #[must_use]
    pub fn has_open_steps(&self) -> bool {
        !self.replayed.open.is_empty() || !self.replayed.unsettled.is_empty()
    }

    /// Whether a run of a plan was interrupted.
    #[must_use]
    pub fn is_run_of(&self, plan: &Digest) -> bool {
        self.replayed.run.as_ref().is_some_and(|run| run.plan == *plan)
    }
}

/// The part of a snapshot that every version has.
#[derive(serde::Deserialize)]
struct Format {
    format: u32,
}

/// A record as it will be once its object is known.
pub(crate) fn record_of(change: &slipway_plan::ResourceChange, identity: Option<&Identity>) -> Record {
    let template = &change.record;
    Record {
        provider: change.provider.clone(),
        schema_version: change.schema_version,
        identity: identity.cloned().unwrap_or_else(|| Identity::new("")),
        applied: Some(template.applied.clone()),
        depends_on: template.depends_on.clone(),
        retain: template.retain,
        protected: template.protected,
        existing: template.existing,
        as_found: template.as_found.clone(),
        untagged: template.untagged,
        deposed: Vec::new(),
    }
}

/// The object of an address, as the state has it.
pub(crate) fn identity_of(snapshot: &Snapshot, address: &Address) -> Option<Identity> {
    snapshot.resources.get(address).map(|record| record.identity.clone())
}
