//! Recovers a cluster's etcd after the loss of its majority: the data of a survivor, or a snapshot, becomes a new etcd of the
//! control planes that are left. Other control planes join it by the ordinary plan.

mod decide;
mod stages;
mod survey;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_engine::State;
use slipway_plan::Snapshot as Prior;
use slipway_state_store::{CommitMeta, Outcome};

use super::{Snapshot, snapshots};
use crate::composition;
use crate::environment::Environment;
use crate::error::Error;
use crate::holding::{Holding, meta};
use crate::opened::Opened;
use crate::unplanned::{Allowed, Unplanned};

use decide::{Choice, Decision};
use survey::survey;

pub use survey::{ControlPlane, MemberData, MemberStatus};

/// The operation as the history names it.
const OPERATION: &str = "etcd recover";

/// The data from which etcd is recovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// The data of the member on this machine.
    Survivor(String),
    /// The snapshot of this name.
    Snapshot(String),
}

/// A control plane that takes no part in a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The machine.
    pub machine: String,
    /// Why it takes no part.
    pub reason: String,
}

/// The part of a recovery that its machines keep, so that an interrupted run continues as it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// The id of the recovery.
    pub id: String,
    /// The data from which etcd is recovered.
    pub source: Source,
    /// The control planes that become members of the new etcd.
    pub machines: Vec<String>,
    /// The control planes that take no part.
    pub absent: Vec<Absent>,
}

/// The kind of work that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Nothing was done yet.
    New,
    /// An earlier run began, and was interrupted.
    Interrupted,
    /// An earlier run was interrupted while it deleted the old data.
    Restored,
    /// An earlier run began and changed no data. Etcd has a majority again, so only the traces of that run are removed.
    Needless,
}

/// The newest snapshot, compared with the data of a survivor.
#[derive(Clone, Debug, Serialize)]
pub struct Newest {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// How many revisions the survivor has more.
    pub behind: Option<i64>,
}

/// The effects and losses of a recovery.
#[derive(Clone, Debug, Serialize)]
pub struct Recovery {
    /// The cluster.
    pub cluster: String,
    /// The id of the recovery. The new etcd cluster has it as its token.
    pub id: String,
    /// Whether an earlier run began it.
    pub progress: Progress,
    /// The data from which etcd is recovered.
    pub source: Source,
    /// The greatest revision of this data.
    pub revision: Option<i64>,
    /// When the data was last written (RFC 3339).
    pub written: Option<String>,
    /// Requests in the log of the survivor of which it never learnt that a majority has them. They are lost.
    pub unconfirmed: Option<u64>,
    /// The newest snapshot that can be opened, if a survivor is the source.
    pub newest_snapshot: Option<Newest>,
    /// How many revisions of a survivor are lost, if a snapshot is the source.
    pub lost_revisions: Option<i64>,
    /// The control planes that become members of the new etcd.
    pub machines: Vec<String>,
    /// The control planes that take no part.
    pub absent: Vec<Absent>,
    /// What was found on each control plane.
    pub control_planes: Vec<ControlPlane>,
    /// The steps, each of which ends on all machines before the next one begins.
    pub stages: Vec<String>,
}

impl Recovery {
    /// The recovery as a change that a policy may hold back. A recovery that goes on is the change that it was at its beginning.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub async fn change(&self, environment: &Environment) -> Result<Unplanned, Error> {
        let from = self.source.described();
        let effect = format!("etcd is recovered from {from} on {}", self.machines.join(", "));
        Unplanned::of(environment, OPERATION, &self.cluster, vec![effect]).await
    }
}

impl Source {
    fn described(&self) -> String {
        match self {
            Self::Survivor(machine) => format!("the data of {machine}"),
            Self::Snapshot(name) => format!("the snapshot {name}"),
        }
    }
}

/// Decides how the etcd of a cluster can be recovered. Reads only.
///
/// # Errors
/// When etcd has a majority or can get one back, when nothing can be recovered, or when an interrupted recovery cannot go on.
pub async fn plan_recovery(opened: &Opened, from_snapshot: Option<&str>) -> Result<Recovery, Error> {
    let cluster = opened.spec.cluster.name.to_string();
    let found = survey(opened).await?;
    let refused = |refusal: decide::Refusal| refusal.into_error(&cluster);
    let decision = decide::decide(&found, from_snapshot).map_err(refused)?;
    let stored = match &decision {
        Decision::New(_) => snapshots(opened).await.map(|found| found.snapshots).unwrap_or_default(),
        _ => Vec::new(),
    };
    let (progress, begun) = match decision {
        Decision::New(choice) => (Progress::New, begin(&cluster, choice, &stored)?),
        Decision::Continue(begun, progress) => (progress, begun),
    };
    Ok(described(cluster, begun, progress, found, stored))
}

/// A recovery that has not begun yet.
fn begin(cluster: &str, choice: Choice, stored: &[Snapshot]) -> Result<Begun, Error> {
    let Choice { source, machines, absent } = choice;
    if let Source::Snapshot(name) = &source
        && !stored.iter().any(|snapshot| snapshot.name == *name && snapshot.problem.is_none())
    {
        return Err(Error::NoSnapshot { cluster: cluster.to_owned(), name: name.clone() });
    }
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Ok(Begun { id: format!("recovered-{now}"), source, machines, absent })
}

fn described(
    cluster: String,
    begun: Begun,
    progress: Progress,
    found: Vec<ControlPlane>,
    stored: Vec<Snapshot>,
) -> Recovery {
    let data =
        |machine: &str| found.iter().find(|one| one.machine == machine).and_then(|one| one.data.as_ref());
    let newest = stored.iter().find(|snapshot| snapshot.problem.is_none());
    let survivor = found.iter().filter_map(|one| one.data.as_ref()).map(|data| data.revision).max();
    let is_new = progress == Progress::New;
    let (revision, written, unconfirmed, newest_snapshot, lost_revisions) = match &begun.source {
        // The data of a recovery that has begun may be replaced already.
        _ if !is_new => (None, None, None, None, None),
        Source::Survivor(machine) => {
            let data = data(machine);
            let behind = |snapshot: &Snapshot| Some((data?.revision - snapshot.revision?).max(0));
            let newest =
                newest.map(|snapshot| Newest { snapshot: snapshot.clone(), behind: behind(snapshot) });
            let written = data.and_then(|data| data.written.clone());
            (data.map(|data| data.revision), written, data.map(|data| data.unconfirmed), newest, None)
        }
        Source::Snapshot(name) => {
            let snapshot = stored.iter().find(|snapshot| snapshot.name == *name);
            let revision = snapshot.and_then(|snapshot| snapshot.revision);
            let lost = survivor.zip(revision).map(|(now, then)| (now - then).max(0));
            (revision, snapshot.and_then(|snapshot| snapshot.taken.clone()), None, None, lost)
        }
    };
    let Begun { id, source, machines, absent } = begun;
    let stages = stages::described(&source, machines.len(), progress);
    Recovery {
        cluster,
        id,
        progress,
        source,
        revision,
        written,
        unconfirmed,
        newest_snapshot,
        lost_revisions,
        machines,
        absent,
        control_planes: found,
        stages,
    }
}

/// Recovers a cluster under a hold, and reports each step. Run again after an interruption, it continues.
///
/// # Errors
/// When a step fails on a machine. Until the last step nothing is lost: [`undo_recovery`] puts everything back.
pub async fn recover(
    environment: &Environment,
    opened: &Opened,
    (plan, change): (&Recovery, &Allowed),
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), Error> {
    let held = Held::take(environment, change).await?;
    let done = stages::run(opened, plan, &held, tell).await;
    let source = plan.source.described();
    let what = format!("etcd was recovered from {source} ({})", plan.id);
    match done.and_then(|()| held.after(&plan.absent)) {
        Ok(snapshot) => held.end(snapshot, what).await,
        Err(error) => held.give_back(error).await,
    }
}

/// Puts data and manifests of before back, after a recovery that did not get to its end.
///
/// # Errors
/// When a machine of that recovery cannot do that.
pub async fn undo_recovery(
    environment: &Environment,
    opened: &Opened,
    change: &Allowed,
) -> Result<(), Error> {
    let held = Held::take(environment, change).await?;
    match stages::undo(opened).await {
        Ok(()) => {
            let snapshot = held.holding.state.snapshot.clone();
            held.end(snapshot, "a recovery of etcd was undone".to_owned()).await
        }
        Err(error) => held.give_back(error).await,
    }
}

/// A cluster that is held for a recovery. A run that was interrupted when etcd was lost stays open: the next apply continues it.
struct Held {
    holding: Holding,
    operation: &'static str,
    environment: Environment,
}

impl Held {
    async fn take(environment: &Environment, change: &Allowed) -> Result<Self, Error> {
        let holding = Holding::take_interrupted(environment, change).await?;
        Ok(Self { holding, operation: change.operation(), environment: environment.clone() })
    }

    /// Records a step before it begins, for the history of a run that is killed in it.
    async fn begins(&self, step: String) -> Result<(), Error> {
        let meta = self.meta(Outcome::Stopped, step);
        Ok(self.holding.holder.unfinished(meta).await?)
    }

    /// The state after a recovery without some control planes: they did not found the new etcd, so they join it.
    fn after(&self, absent: &[Absent]) -> Result<Prior, Error> {
        let mut snapshot = self.holding.state.snapshot.clone();
        let is_absent = |name: &str| absent.iter().any(|one| one.machine == name);
        for catalog in snapshot.catalogs.values_mut() {
            let Some(mut placement) = composition::placement(catalog)? else { continue };
            for machine in &mut placement.machines {
                machine.founding &= !is_absent(&machine.name);
            }
            *catalog = composition::with_placement(catalog, &placement)?;
        }
        Ok(snapshot)
    }

    /// Ends the hold with a state. While a run of a plan is open, the state stays as it is, and the history gets a record
    /// without a generation.
    async fn end(self, snapshot: Prior, what: String) -> Result<(), Error> {
        if !self.holding.state.is_interrupted() {
            return self.holding.commit(&snapshot, what).await.map(drop);
        }
        let meta = self.meta(Outcome::Complete, what);
        self.holding.holder.unfinished(meta).await?;
        self.holding.holder.release(None).await?;
        Ok(())
    }

    /// Ends the hold after a failure, which is returned.
    async fn give_back(self, error: Error) -> Result<(), Error> {
        self.holding.give_back(error).await
    }

    fn meta(&self, outcome: Outcome, detail: String) -> CommitMeta {
        let State { snapshot, .. } = &self.holding.state;
        let about: BTreeMap<String, String> = about(snapshot);
        CommitMeta { outcome, ..meta(&self.environment.actor, self.operation, detail, about) }
    }
}

fn about(snapshot: &Prior) -> BTreeMap<String, String> {
    slipway_engine::about(&snapshot.spec)
}
