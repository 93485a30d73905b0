//! Restores a cluster's etcd from a snapshot, stage by stage on all control planes.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Value as Json, json};
use slipway_resource::schema::Part;
use slipway_resource::{ErrorClass, ProviderError, Value};
use tokio::time::Instant;

use super::{Snapshot, Taker, number_of, run, snapshots, takers, text};
use crate::environment::Environment;
use crate::error::Error;
use crate::health;
use crate::holding::Holding;
use crate::opened::Opened;
use crate::unplanned::{Allowed, Unplanned};

/// The operations of types that take snapshots: one stage of a restore, and the objects of snapshots.
const RESTORE: &str = "restore";
const READ: &str = "read-object";
const WRITE: &str = "write-object";

/// How long one stage may take on a machine.
const STAGE: Duration = Duration::from_secs(2_400);

/// How long the API may take to answer afterwards.
const ANSWERS: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_secs(2);

/// The effects and losses of a restore.
#[derive(Clone, Debug, Serialize)]
pub struct Restore {
    /// The cluster.
    pub cluster: String,
    /// The snapshot.
    pub snapshot: Snapshot,
    /// The control planes, all of which are restored.
    pub machines: Vec<String>,
    /// The revision that etcd has now; none where no member answers.
    pub current_revision: Option<i64>,
    /// How many revisions after the snapshot are lost; none where that is not known.
    pub lost_revisions: Option<i64>,
    /// The stages, each of which ends on all control planes before the next one begins.
    pub stages: Vec<String>,
}

impl Restore {
    /// The restore as a change that a policy may hold back.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub async fn change(&self, environment: &Environment) -> Result<Unplanned, Error> {
        let effect = format!("etcd is restored from {} on {}", self.snapshot.name, self.machines.join(", "));
        Unplanned::of(environment, "etcd restore", &self.cluster, vec![effect]).await
    }
}

/// The stages, in order, with their descriptions.
const STAGES: [(&str, &str); 7] = [
    ("prepare", "fetch the snapshot and check it; nothing is changed yet"),
    ("stop", "stop kube-apiserver, kube-controller-manager and kube-scheduler"),
    ("stop-etcd", "stop etcd"),
    ("swap", "restore the snapshot into a new data folder and use it; the old data is kept aside"),
    ("start-etcd", "start etcd, and wait until every member serves"),
    ("start", "start the other components, and wait until the API answers"),
    ("finish", "delete the old data"),
];

/// The effects of a restore. Reads only.
///
/// # Errors
/// When the cluster has no such snapshot, or a control plane takes none.
pub async fn plan_restore(opened: &Opened, name: &str) -> Result<Restore, Error> {
    let takers = takers(opened)?;
    let found = snapshots(opened).await?;
    let snapshot =
        found.snapshots.iter().find(|snapshot| snapshot.name == name && snapshot.problem.is_none());
    let missing = || Error::NoSnapshot { cluster: found.cluster.clone(), name: name.to_owned() };
    let snapshot = snapshot.cloned().ok_or_else(missing)?;
    let records = opened.prior().into_iter().flat_map(|prior| prior.resources.keys());
    let members =
        records.filter(|address| opened.providers().part(address) == Some(Part::EtcdMember)).count();
    if members != takers.len() {
        return Err(Error::NoBackups { cluster: found.cluster.clone() });
    }
    let current_revision = found.keepers.iter().filter_map(|keeper| keeper.revision).max();
    let lost = current_revision.zip(snapshot.revision).map(|(now, then)| (now - then).max(0));
    Ok(Restore {
        cluster: found.cluster,
        snapshot,
        machines: takers.into_iter().map(|taker| taker.machine).collect(),
        current_revision,
        lost_revisions: lost,
        stages: STAGES.map(|(_, what)| what.to_owned()).to_vec(),
    })
}

/// Restores a cluster under a hold, and reports the effects. Run again after an interruption, it continues.
///
/// # Errors
/// When a stage fails on a machine. Until the last stage nothing is lost: [`undo_restore`] puts everything back.
pub async fn restore(
    environment: &Environment,
    opened: &Opened,
    (plan, change): (&Restore, &Allowed),
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), Error> {
    let holding = Holding::take(environment, change, None).await?;
    let done = stages(opened, plan, tell).await;
    end(holding, done, format!("etcd was restored from {}", plan.snapshot.name)).await
}

/// Ends a hold: with a generation that says what was done, or after a failure without one.
async fn end(holding: Holding, done: Result<(), Error>, what: String) -> Result<(), Error> {
    match done {
        Ok(()) => {
            let snapshot = holding.state.snapshot.clone();
            holding.commit(&snapshot, what).await.map(drop)
        }
        Err(error) => holding.give_back(error).await,
    }
}

async fn stages(opened: &Opened, plan: &Restore, tell: &(dyn Fn(&str) + Send + Sync)) -> Result<(), Error> {
    let takers = takers(opened)?;
    share(opened, &takers, &plan.snapshot, tell).await?;
    let mut initial_cluster = String::new();
    for (number, (stage, what)) in STAGES.iter().enumerate() {
        tell(&format!("{} of {}: {what}", number + 1, STAGES.len()));
        let arguments = Value::from_json(&json!({
            "stage": stage,
            "snapshot": plan.snapshot.name,
            "initial_cluster": initial_cluster,
            "token": format!("restored-{}", plan.snapshot.name),
        }));
        let answers = on_all(opened, &takers, &arguments).await?;
        if *stage == "prepare" {
            let member = |answer: &Value| {
                let answer = answer.to_json();
                Some(format!("{}={}", text(&answer, "name")?, text(&answer, "peer_url")?))
            };
            if is_restored_already(opened, &takers, &answers).await? {
                tell("an earlier run restored it: what that run left was removed");
                return Ok(());
            }
            initial_cluster = answers.iter().filter_map(member).collect::<Vec<_>>().join(",");
        }
        if *stage == "start" {
            answers_again(opened).await?;
        }
    }
    Ok(())
}

/// Whether an earlier run came to its last stage, in which machines forget it one by one; then the others forget it too. Machines
/// that forgot it must not be restored again beside those that go on with what was restored.
async fn is_restored_already(
    opened: &Opened,
    takers: &[Taker<'_>],
    answers: &[Value],
) -> Result<bool, Error> {
    let says = |answer: &Value, name: &str| answer.get(name).and_then(Value::as_bool) == Some(true);
    let has = |name: &str| answers.iter().any(|answer| says(answer, name));
    if !(has("is_swapped") && has("is_new")) {
        return Ok(false);
    }
    for (taker, answer) in takers.iter().zip(answers) {
        // An undo without anything to put back deletes the snapshot that was fetched again.
        let stage = if says(answer, "is_swapped") { "finish" } else { "undo" };
        run(opened, taker, (RESTORE, Value::map([("stage", stage)])), STAGE).await?;
    }
    Ok(true)
}

/// Puts data and manifests of before back on all control planes, after a restore that did not get to its end.
///
/// # Errors
/// When a machine cannot do that.
pub async fn undo_restore(environment: &Environment, opened: &Opened, change: &Allowed) -> Result<(), Error> {
    let holding = Holding::take(environment, change, None).await?;
    let arguments = Value::map([("stage", "undo")]);
    let done = async { on_all(opened, &takers(opened)?, &arguments).await.map(drop) };
    end(holding, done.await, "a restore of etcd was undone".to_owned()).await
}

/// Runs a stage on all machines at the same time; the first failure, after all have ended.
async fn on_all(opened: &Opened, takers: &[Taker<'_>], arguments: &Value) -> Result<Vec<Value>, Error> {
    let done = takers.iter().map(|taker| run(opened, taker, (RESTORE, arguments.clone()), STAGE));
    let done: Result<Vec<Value>, ProviderError> = join_all(done).await.into_iter().collect();
    Ok(done?)
}

/// Waits until the API answers.
async fn answers_again(opened: &Opened) -> Result<(), Error> {
    let until = Instant::now() + ANSWERS;
    loop {
        let why = match health::look(opened).await {
            Ok(health) => match health.api {
                None => return Ok(()),
                Some(why) => why,
            },
            Err(error) => error.to_string(),
        };
        if Instant::now() >= until {
            let text =
                format!("the API does not answer {} s after etcd was restored: {why}", ANSWERS.as_secs());
            return Err(ProviderError::new(ErrorClass::Permanent, text).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Copies the snapshot to the control planes that do not have it, sealed as it is.
pub(super) async fn share(
    opened: &Opened,
    takers: &[Taker<'_>],
    snapshot: &Snapshot,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), Error> {
    let Some(from) = takers.iter().find(|taker| taker.machine == snapshot.machine) else { return Ok(()) };
    let manifest = manifest_of(opened, from, snapshot).await?;
    let parts = number_of(&manifest, "parts").unwrap_or_default();
    for taker in takers.iter().filter(|taker| taker.machine != from.machine) {
        let has = manifest_of(opened, taker, snapshot).await?;
        if text(&has, "base64").is_some() {
            continue;
        }
        tell(&format!("copies the snapshot from {} to {}", from.machine, taker.machine));
        let parts = (0..parts).map(|part| format!("part-{part:05}"));
        // The manifest comes last: without it there is no snapshot.
        for name in parts.chain(["manifest".to_owned()]) {
            let arguments = Value::map([("snapshot", snapshot.name.as_str()), ("object", &name)]);
            let read = run(opened, from, (READ, arguments), STAGE).await?.to_json();
            let bytes = text(&read, "base64").unwrap_or_default();
            let is_there = STANDARD.decode(&bytes).is_ok_and(|bytes| !bytes.is_empty());
            if !is_there {
                let why = format!("{}: {name} of the snapshot {} is missing", from.machine, snapshot.name);
                return Err(ProviderError::new(ErrorClass::Permanent, why).into());
            }
            let arguments =
                Value::map([("snapshot", snapshot.name.as_str()), ("object", &name), ("base64", &bytes)]);
            run(opened, taker, (WRITE, arguments), STAGE).await?;
        }
    }
    Ok(())
}

/// The manifest of a snapshot, as a machine has it stored; nothing where it has none.
async fn manifest_of(opened: &Opened, taker: &Taker<'_>, snapshot: &Snapshot) -> Result<Json, Error> {
    let arguments = Value::map([("snapshot", snapshot.name.as_str()), ("object", "manifest")]);
    Ok(run(opened, taker, (READ, arguments), STAGE).await?.to_json())
}
