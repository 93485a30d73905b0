//! The steps of a recovery, each on all machines that take part.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use slipway_resource::{ErrorClass, ProviderError, Value};
use tokio::time::Instant;

use super::super::{Taker, number_of, restore, run as ask, snapshots, takers, text};
use super::survey::{RECOVER, members};
use super::{Begun, Held, Progress, Recovery, Source};
use crate::error::Error;
use crate::health;
use crate::opened::Opened;

/// How long one stage may take on a machine.
const STAGE: Duration = Duration::from_secs(2_400);

/// How long the API may take to answer afterwards.
const ANSWERS: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_secs(2);

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Prepare,
    Stop,
    StopEtcd,
    /// The survivor copies its database, and the others get the copy.
    Copy,
    /// Each machine gets the snapshot of the store.
    Fetch,
    Swap,
    StartEtcd,
    Clean,
    Start,
    Finish,
    /// Removes what an earlier run left that changed nothing.
    Undo,
}

impl Step {
    /// The stage of the machines, for a step that is one stage on all of them.
    fn stage(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Stop => "stop",
            Self::StopEtcd => "stop-etcd",
            Self::Copy => "copy",
            Self::Fetch => "fetch-stored",
            Self::Swap => "swap",
            Self::StartEtcd => "start-etcd",
            Self::Clean => "clean",
            Self::Start => "start",
            Self::Finish => "finish",
            Self::Undo => "undo",
        }
    }

    fn described(self, source: &Source, machines: usize) -> String {
        let text = match (self, source) {
            (Self::Prepare, _) => {
                "check images and free space, and record the recovery; nothing is changed yet"
            }
            (Self::Stop, _) => "stop kube-apiserver, kube-controller-manager and kube-scheduler",
            (Self::StopEtcd, _) => "stop etcd",
            (Self::Copy, Source::Survivor(machine)) if machines > 1 => {
                return format!("copy the database of {machine}, and send the copy to the other members");
            }
            (Self::Copy, Source::Survivor(machine)) => return format!("copy the database of {machine}"),
            (Self::Copy | Self::Fetch, _) => "fetch the snapshot and check it",
            (Self::Swap, _) => {
                "make a new etcd cluster of the copy and use it; the old data is kept aside, and the old members are unknown to it"
            }
            (Self::StartEtcd, _) => "start etcd, and wait until every member serves",
            (Self::Clean, _) => {
                "remove the leases of all API servers, so that lost ones are no endpoints any more"
            }
            (Self::Start, _) => "start the other components, and wait until the API answers",
            (Self::Finish, _) => "delete the old data",
            (Self::Undo, _) => "remove what an earlier run left; it changed no data",
        };
        text.to_owned()
    }
}

/// The steps that are left.
fn steps(source: &Source, progress: Progress) -> Vec<Step> {
    let data = match source {
        Source::Survivor(_) => Step::Copy,
        Source::Snapshot(_) => Step::Fetch,
    };
    match progress {
        Progress::Needless => vec![Step::Undo],
        Progress::Restored => vec![Step::Finish],
        Progress::New | Progress::Interrupted => vec![
            Step::Prepare,
            Step::Stop,
            Step::StopEtcd,
            data,
            Step::Swap,
            Step::StartEtcd,
            Step::Clean,
            Step::Start,
            Step::Finish,
        ],
    }
}

/// The steps that are left, in sentences.
pub(super) fn described(source: &Source, machines: usize, progress: Progress) -> Vec<String> {
    steps(source, progress).into_iter().map(|step| step.described(source, machines)).collect()
}

/// A recovery that is carried out.
struct Work<'a> {
    opened: &'a Opened,
    plan: &'a Recovery,
    /// The members that take part.
    members: Vec<Taker<'a>>,
    tell: &'a (dyn Fn(&str) + Send + Sync),
}

/// Carries out the steps that are left.
pub(super) async fn run(
    opened: &Opened,
    plan: &Recovery,
    held: &Held,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), Error> {
    let mut members = members(opened)?;
    members.retain(|member| plan.machines.contains(&member.machine));
    if plan.progress == Progress::Restored || plan.progress == Progress::Needless {
        // Machines that forgot the recovery have nothing to do.
        let has_begun = |machine: &str| {
            plan.control_planes.iter().any(|one| one.machine == machine && one.begun.is_some())
        };
        members.retain(|member| has_begun(&member.machine));
    }
    let work = Work { opened, plan, members, tell };
    let steps = steps(&plan.source, plan.progress);
    let count = steps.len();
    for (number, step) in steps.into_iter().enumerate() {
        let what = step.described(&plan.source, plan.machines.len());
        let text = format!("{} of {count}: {what}", number + 1);
        tell(&text);
        held.begins(format!("{}: {text}", plan.id)).await?;
        work.step(step).await?;
    }
    Ok(())
}

/// Puts everything back on the machines where a recovery has begun.
pub(super) async fn undo(opened: &Opened) -> Result<(), Error> {
    let found = super::survey(opened).await?;
    let begun = |machine: &str| found.iter().any(|one| one.machine == machine && one.begun.is_some());
    let members = members(opened)?;
    let members: Vec<&Taker<'_>> = members.iter().filter(|member| begun(&member.machine)).collect();
    let arguments = Value::map([("stage", Step::Undo.stage())]);
    on(opened, members, &arguments).await.map(drop)
}

impl Work<'_> {
    async fn step(&self, step: Step) -> Result<(), Error> {
        let all = || self.members.iter().collect();
        match step {
            Step::Copy => self.copy().await,
            Step::Fetch => self.fetch().await,
            // One member serves for all.
            Step::Clean => {
                self.stage(self.members.iter().take(1).collect(), step.stage(), json!({})).await.map(drop)
            }
            Step::Start => {
                self.stage(all(), step.stage(), json!({})).await?;
                answers_again(self.opened).await
            }
            _ => {
                let arguments = self.arguments()?;
                self.stage(all(), step.stage(), arguments).await.map(drop)
            }
        }
    }

    /// The arguments of stages.
    fn arguments(&self) -> Result<Json, Error> {
        let Recovery { id, source, machines, absent, .. } = self.plan;
        let begun = Begun {
            id: id.clone(),
            source: source.clone(),
            machines: machines.clone(),
            absent: absent.clone(),
        };
        let note = serde_json::to_string(&begun)
            .map_err(|error| Error::internal("the recovery cannot be written as JSON", error))?;
        let member = |machine: &String| {
            let one = self.plan.control_planes.iter().find(|one| one.machine == *machine)?;
            Some(format!("{}={}", one.member.as_ref()?, one.peer_url.as_ref()?))
        };
        let members: Vec<String> = machines.iter().filter_map(member).collect();
        Ok(json!({"note": note, "initial_cluster": members.join(","), "token": id}))
    }

    /// Runs a stage on these machines at the same time.
    async fn stage(
        &self,
        members: Vec<&Taker<'_>>,
        stage: &str,
        mut arguments: Json,
    ) -> Result<Vec<Value>, Error> {
        if let Some(fields) = arguments.as_object_mut() {
            fields.insert("stage".to_owned(), stage.into());
            fields.insert("recovery".to_owned(), self.plan.id.clone().into());
            fields.insert("cluster".to_owned(), self.plan.cluster.clone().into());
        }
        on(self.opened, members, &Value::from_json(&arguments)).await
    }

    /// Copies the survivor's database on its machine, and then to the others.
    async fn copy(&self) -> Result<(), Error> {
        let (source, others): (Vec<&Taker<'_>>, Vec<&Taker<'_>>) = self.members.iter().partition(
            |member| matches!(&self.plan.source, Source::Survivor(machine) if *machine == member.machine),
        );
        self.stage(source.clone(), "copy", json!({})).await?;
        // A machine whose data is replaced already has no use for the copy.
        let is_replaced = |machine: &str| {
            self.plan.control_planes.iter().any(|one| one.machine == machine && one.is_replaced)
        };
        let others: Vec<&Taker<'_>> =
            others.into_iter().filter(|other| !is_replaced(&other.machine)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let offered = self.stage(source.clone(), "offer", json!({})).await?;
        let offered = offered.first().map(Value::to_json).unwrap_or_default();
        let snapshot = text(&offered, "snapshot").unwrap_or_default();
        let parts = number_of(&offered, "parts").unwrap_or_default();
        let parts = (0..parts).map(|part| format!("part-{part:05}"));
        // The manifest comes last: without it there is no snapshot.
        for object in parts.chain(["manifest".to_owned()]) {
            let arguments = json!({"snapshot": snapshot, "object": object});
            let read = self.stage(source.clone(), "read", arguments.clone()).await?;
            let read = read.first().map(Value::to_json).unwrap_or_default();
            let mut arguments = arguments;
            if let Some(fields) = arguments.as_object_mut() {
                fields.insert("base64".to_owned(), text(&read, "base64").unwrap_or_default().into());
            }
            self.stage(others.clone(), "write", arguments).await?;
        }
        self.stage(others, "fetch", json!({"snapshot": snapshot})).await.map(drop)
    }

    /// Has each machine fetch the snapshot, which is copied to those that do not see it.
    async fn fetch(&self) -> Result<(), Error> {
        let Source::Snapshot(name) = &self.plan.source else { return Ok(()) };
        let found = snapshots(self.opened).await?;
        let missing = || Error::NoSnapshot { cluster: self.plan.cluster.clone(), name: name.clone() };
        let is_it = |snapshot: &&super::Snapshot| snapshot.name == *name && snapshot.problem.is_none();
        let snapshot = found.snapshots.iter().find(is_it).ok_or_else(missing)?;
        let mut takers = takers(self.opened)?;
        takers
            .retain(|taker| self.plan.machines.contains(&taker.machine) || taker.machine == snapshot.machine);
        restore::share(self.opened, &takers, snapshot, self.tell).await?;
        let all = self.members.iter().collect();
        self.stage(all, Step::Fetch.stage(), json!({"snapshot": name})).await.map(drop)
    }
}

/// Runs a stage on machines at the same time; the first failure, after all have ended.
async fn on(opened: &Opened, members: Vec<&Taker<'_>>, arguments: &Value) -> Result<Vec<Value>, Error> {
    let done = members.into_iter().map(|member| ask(opened, member, (RECOVER, arguments.clone()), STAGE));
    let done: Result<Vec<Value>, ProviderError> = join_all(done).await.into_iter().collect();
    Ok(done?)
}

/// Waits until an API server answers a question that needs etcd.
async fn answers_again(opened: &Opened) -> Result<(), Error> {
    let until = Instant::now() + ANSWERS;
    loop {
        let why = match health::api(&opened.access()).await? {
            Ok(api) => match api.get("/api/v1/namespaces/kube-system").await {
                Ok(_) => return Ok(()),
                Err(error) => error.message,
            },
            Err(why) => why,
        };
        if Instant::now() >= until {
            let text =
                format!("the API does not answer {} s after etcd was recovered: {why}", ANSWERS.as_secs());
            return Err(ProviderError::new(ErrorClass::Permanent, text).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
