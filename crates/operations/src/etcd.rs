//! A cluster's etcd: the snapshots that its control planes keep, one that is taken now, restores, recoveries and defragmentation.

mod defragment;
mod recover;
mod restore;

use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value as Json;
use slipway_plan::Providers;
use slipway_resource::provider::{Action, ApplyRequest, EventSink};
use slipway_resource::{Address, ClusterUid, Identity, Ownership, ProviderError, Session, Token, Value};

use crate::error::Error;
use crate::opened::Opened;

pub use defragment::{Defragmented, defragment};
pub use recover::{
    Absent, Begun, ControlPlane, MemberData, MemberStatus, Newest, Progress, Recovery, Source, plan_recovery,
    recover, undo_recovery,
};
pub use restore::{Restore, plan_restore, restore, undo_restore};

/// The operation of types that take snapshots which lists them.
const LIST: &str = "snapshots";

/// The operation that takes one.
const SNAPSHOT: &str = "snapshot";

/// How long one machine may take to list its snapshots.
const LISTS: Duration = Duration::from_secs(120);

/// How long one may take to save a snapshot.
const SAVES: Duration = Duration::from_secs(3_600);

/// One snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// When it was taken; none for one that cannot be opened.
    pub taken: Option<String>,
    /// The greatest revision in it.
    pub revision: Option<i64>,
    /// The size of the database in bytes.
    pub size: Option<i64>,
    /// The size in the store in bytes.
    pub stored: Option<i64>,
    /// The member of etcd that sent it.
    pub member: Option<String>,
    /// The version of etcd.
    pub etcd_version: Option<String>,
    /// The SHA-256 of the database.
    pub sha256: Option<String>,
    /// When it was read back and found to be what etcd sent.
    pub verified: Option<String>,
    /// Why it cannot be opened, if so.
    pub problem: Option<String>,
    /// The machine that has it, or sees it in the bucket.
    pub machine: String,
    /// The folder or bucket.
    pub store: String,
}

/// The report of one control plane.
#[derive(Clone, Debug, Serialize)]
pub struct Keeper {
    /// The machine.
    pub machine: String,
    /// Whether its member leads etcd, and so takes the snapshots; none where the member does not answer.
    pub leads: Option<bool>,
    /// The revision of its member.
    pub revision: Option<i64>,
    /// Why the machine, its store or its member does not answer, or why its last attempt failed.
    pub problem: Option<String>,
}

/// The snapshots of a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshots {
    /// The cluster.
    pub cluster: String,
    /// The control planes that take snapshots.
    pub keepers: Vec<Keeper>,
    /// Their snapshots, the newest first.
    pub snapshots: Vec<Snapshot>,
}

impl Snapshots {
    /// Whether every control plane answered, none has failed to save a snapshot, and every snapshot can be opened.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.keepers.iter().all(|keeper| keeper.problem.is_none())
            && self.snapshots.iter().all(|snapshot| snapshot.problem.is_none())
    }
}

/// A resource that takes snapshots, or is a member of etcd.
#[derive(Clone)]
struct Taker<'a> {
    machine: String,
    /// The cluster's unique id.
    uid: &'a ClusterUid,
    address: &'a Address,
    identity: &'a Identity,
    session: &'a dyn Session,
}

/// The snapshots of a cluster, as its control planes see them. Reads only.
///
/// # Errors
/// When the cluster does not exist, or none of its machines takes snapshots.
pub async fn snapshots(opened: &Opened) -> Result<Snapshots, Error> {
    let takers = takers(opened)?;
    let answers = join_all(takers.iter().map(|taker| async {
        run(opened, taker, (LIST, Value::Null), LISTS).await.map(|answer| answer.to_json())
    }));
    let (mut keepers, mut snapshots) = (Vec::new(), Vec::<Snapshot>::new());
    for (taker, answer) in takers.iter().zip(answers.await) {
        match answer {
            Ok(answer) => {
                keepers.push(keeper(&taker.machine, &answer));
                let store = text(&answer, "store").unwrap_or_default();
                let is_shared = answer.get("is_shared").and_then(Json::as_bool).unwrap_or_default();
                let listed = answer.get("snapshots").and_then(Json::as_array).cloned().unwrap_or_default();
                for snapshot in listed.iter().filter_map(|one| described(one, &taker.machine, &store)) {
                    let is_known = |known: &Snapshot| known.name == snapshot.name && known.store == store;
                    if !is_shared || !snapshots.iter().any(is_known) {
                        snapshots.push(snapshot);
                    }
                }
            }
            Err(error) => keepers.push(Keeper {
                machine: taker.machine.clone(),
                leads: None,
                revision: None,
                problem: Some(error.message),
            }),
        }
    }
    snapshots.sort_by(|one, other| (&other.name, &one.machine).cmp(&(&one.name, &other.machine)));
    Ok(Snapshots { cluster: opened.spec.cluster.name.to_string(), keepers, snapshots })
}

/// Has the member that leads etcd take a snapshot now; another one, where that member does not answer.
///
/// # Errors
/// When none of the machines saved one: the failure of the last one that was asked.
pub async fn backup(opened: &Opened) -> Result<Snapshot, Error> {
    let takers = takers(opened)?;
    let known = snapshots(opened).await?;
    let leads = |taker: &&Taker<'_>| {
        known.keepers.iter().any(|keeper| keeper.machine == taker.machine && keeper.leads == Some(true))
    };
    let (leaders, others): (Vec<&Taker<'_>>, Vec<&Taker<'_>>) = takers.iter().partition(leads);
    let mut failed = None;
    for taker in leaders.into_iter().chain(others) {
        match run(opened, taker, (SNAPSHOT, Value::Null), SAVES).await {
            Ok(answer) => {
                let answer = answer.to_json();
                let store = text(&answer, "store").unwrap_or_default();
                let missing = || Error::internal("a snapshot has no name", std::fmt::Error);
                return described(&answer, &taker.machine, &store).ok_or_else(missing);
            }
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.map_or_else(|| no_backups(opened), Error::Provider))
}

/// Saves a snapshot before an upgrade or a rotation; `None` for a cluster whose machines take no snapshots.
///
/// # Errors
/// [`Error::Unsaved`] when none of its machines saved one.
pub(crate) async fn before(opened: &Opened, work: &'static str) -> Result<Option<Snapshot>, Error> {
    if takers(opened).is_err() {
        return Ok(None);
    }
    let failed = |source| Error::Unsaved {
        cluster: opened.spec.cluster.name.to_string(),
        work,
        source: Box::new(source),
    };
    backup(opened).await.map(Some).map_err(failed)
}

/// Whether a state has resources that take snapshots.
pub(crate) fn has_takers(prior: Option<&slipway_plan::Snapshot>, providers: &Providers) -> bool {
    prior.into_iter().flat_map(|prior| prior.resources.keys()).any(|address| {
        providers.of_type(address.kind()).is_some_and(|(_, _, kind)| kind.operations.contains_key(SNAPSHOT))
    })
}

/// The resources of the state that take snapshots.
fn takers(opened: &Opened) -> Result<Vec<Taker<'_>>, Error> {
    let takers = those_with(opened, &[LIST, SNAPSHOT])?;
    if takers.is_empty() { Err(no_backups(opened)) } else { Ok(takers) }
}

/// The resources of the state whose type has these operations.
fn those_with<'a>(opened: &'a Opened, operations: &[&str]) -> Result<Vec<Taker<'a>>, Error> {
    opened.check_exists("etcd")?;
    let records = opened
        .prior()
        .into_iter()
        .flat_map(|prior| prior.resources.iter().map(|(address, record)| (&prior.uid, address, record)));
    let found = records
        .filter_map(|(uid, address, record)| {
            let (_, handle, kind) = opened.providers().of_type(address.kind())?;
            let has_all = operations.iter().all(|operation| kind.operations.contains_key(*operation));
            let machine = address.name().split('/').next().unwrap_or_default().to_owned();
            has_all.then(|| Taker {
                uid,
                machine,
                address,
                identity: &record.identity,
                session: &*handle.session,
            })
        })
        .collect();
    Ok(found)
}

fn no_backups(opened: &Opened) -> Error {
    Error::NoBackups { cluster: opened.spec.cluster.name.to_string() }
}

/// Runs an operation on a machine.
async fn run(
    opened: &Opened,
    taker: &Taker<'_>,
    (name, arguments): (&str, Value),
    time: Duration,
) -> Result<Value, ProviderError> {
    let request = ApplyRequest {
        token: Token::new(format!("{name}-{}-{}", taker.machine, jiff::Timestamp::now())),
        ownership: Ownership {
            uid: taker.uid.clone(),
            cluster: opened.spec.cluster.name.to_string(),
            address: taker.address.clone(),
        },
        action: Action::Operation { identity: taker.identity.clone(), name: name.to_owned(), arguments },
        timeout_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    };
    Ok(taker.session.apply(request, EventSink::discard()).await?.attributes)
}

fn keeper(machine: &str, answer: &Json) -> Keeper {
    let failure = text(answer, "failure").map(|failure| {
        let at = text(answer, "failed_at").unwrap_or_default();
        format!("no snapshot was saved at {at}: {failure}")
    });
    Keeper {
        machine: machine.to_owned(),
        leads: answer.get("leads").and_then(Json::as_bool),
        revision: number_of(answer, "revision"),
        problem: text(answer, "member_problem").or(failure),
    }
}

fn described(answer: &Json, machine: &str, store: &str) -> Option<Snapshot> {
    let number = |name: &str| number_of(answer, name);
    Some(Snapshot {
        name: text(answer, "name")?,
        taken: text(answer, "taken"),
        revision: number("revision"),
        size: number("size"),
        stored: number("stored"),
        member: text(answer, "member"),
        etcd_version: text(answer, "etcd_version"),
        sha256: text(answer, "sha256"),
        verified: text(answer, "verified"),
        problem: text(answer, "problem"),
        machine: machine.to_owned(),
        store: store.to_owned(),
    })
}

fn text(answer: &Json, name: &str) -> Option<String> {
    answer.get(name).and_then(Json::as_str).map(str::to_owned)
}

fn number_of(answer: &Json, name: &str) -> Option<i64> {
    answer.get(name).and_then(Json::as_i64)
}
