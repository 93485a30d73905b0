//! Writing `ManagedCluster` objects, by server-side apply: each replica those of its clusters.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;
use slipway_controller::EventType;
use slipway_controller::k8s_openapi::api::core::v1::ObjectReference;
use slipway_controller::kube::api::{Api, Patch, PatchParams};
use slipway_controller::kube::{self, Resource as _};
use slipway_state_store::Digest;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::MANAGER;
use super::connection::{Connection, Failure, REQUEST, answered, delete};
use super::managed_cluster::{ManagedCluster, ManagedClusterSpec, ManagedClusterStatus};
use super::queue::Queue;
use crate::metrics::outcome;
use crate::status::Status;

/// How many objects are written at once.
const AT_ONCE: usize = 8;
/// How long writes may go on when the controller ends.
const LAST: Duration = Duration::from_secs(5);
/// How often an object is written again that another client changes meanwhile.
const ATTEMPTS: u32 = 3;
/// The most bytes of an event's note; the API refuses more than 1024.
const NOTE: usize = 1_000;

/// Writes the objects of this replica's clusters.
pub(super) struct Publisher<'a> {
    connection: &'a Connection,
    queue: Queue<Option<Status>>,
    objects: Api<ManagedCluster>,
    known: BTreeMap<String, Known>,
}

/// An object as this replica knows it.
enum Known {
    Ours(Written),
    /// It belongs to another controller, and is left alone.
    Foreign,
}

/// What was written last.
#[derive(Default)]
struct Written {
    spec: Option<Digest>,
    /// The digest of the status without its generation.
    status: Option<Digest>,
    generation: i64,
    /// The subject of the last event.
    published: Option<String>,
}

/// The result of writing one object.
type Done = (String, Option<Status>, Result<Option<Known>, Failure>);

impl<'a> Publisher<'a> {
    pub fn new(connection: &'a Connection, queue: Queue<Option<Status>>) -> Self {
        let objects = Api::namespaced(connection.client.clone(), &connection.namespace);
        Self { connection, queue, objects, known: BTreeMap::new() }
    }

    /// Writes what waits until the stop, and then once more.
    pub async fn run(&mut self, stop: &CancellationToken) {
        let (queue, retry) = (self.queue.clone(), self.connection.shared.configuration.retry);
        let mut failures = 0_u32;
        let mut problem: Option<String> = None;
        let late = async {
            stop.cancelled().await;
            sleep(LAST).await;
        };
        let mut late = std::pin::pin!(late);
        while !stop.is_cancelled() {
            let batch = tokio::select! {
                () = stop.cancelled() => break,
                batch = queue.next() => batch,
            };
            let failed = tokio::select! {
                () = &mut late => return,
                failed = self.write(batch) => failed,
            };
            match &failed {
                Some(failed) if problem.as_ref() != Some(failed) => {
                    tracing::warn!("the objects of clusters cannot be written: {failed}");
                }
                None if problem.is_some() => tracing::info!("the objects of clusters are written again"),
                _ => {}
            }
            problem = failed;
            failures = if problem.is_some() { failures.saturating_add(1) } else { 0 };
            if failures > 0 {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = sleep(retry.wait(failures, "objects")) => {}
                }
            }
        }
        tokio::select! {
            () = &mut late => {}
            _ = self.write(queue.take()) => {}
        }
    }

    /// Writes statuses. Returns why some were not written; they wait again.
    async fn write(&mut self, batch: BTreeMap<String, Option<Status>>) -> Option<String> {
        let mut problem = None;
        let mut waiting: Vec<(String, Option<Status>)> = batch.into_iter().collect();
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(AT_ONCE));
            let chunk = std::mem::replace(&mut waiting, rest);
            let known: Vec<Option<Known>> =
                chunk.iter().map(|(cluster, _)| self.known.remove(cluster)).collect();
            let this = &*self;
            let jobs = chunk.into_iter().zip(known);
            let jobs = jobs.map(move |((cluster, status), known)| this.one(cluster, status, known));
            let done = join_all(jobs).await;
            for (cluster, status, result) in done {
                let how = if result.is_ok() { "written" } else { "failed" };
                self.connection.shared.metrics.objects.get_or_create(&outcome(how)).inc();
                match result {
                    Ok(Some(known)) => {
                        self.known.insert(cluster, known);
                    }
                    Ok(None) => {}
                    Err(failure) => {
                        problem = Some(failure.to_string());
                        self.queue.give_back(cluster, status);
                        if failure.is_general() {
                            waiting
                                .drain(..)
                                .for_each(|(cluster, status)| self.queue.give_back(cluster, status));
                        }
                    }
                }
            }
        }
        problem
    }

    async fn one(&self, cluster: String, status: Option<Status>, known: Option<Known>) -> Done {
        let result = match &status {
            Some(status) => self.publish(status, known).await.map(Some),
            None => self.remove(&cluster).await.map(|()| None),
        };
        (cluster, status, result)
    }

    async fn publish(&self, status: &Status, known: Option<Known>) -> Result<Known, Failure> {
        let name = status.cluster.as_str();
        let is_known_as_foreign = matches!(known, Some(Known::Foreign));
        let mut written = match known {
            Some(Known::Ours(written)) => written,
            _ => match answered(self.objects.get_opt(name)).await? {
                None => Written::default(),
                Some(object) if object.spec.controller == self.own() => Written::of(&object),
                Some(object) => {
                    if !is_known_as_foreign {
                        let other = &object.spec.controller;
                        tracing::warn!(
                            cluster = name,
                            other,
                            "the ManagedCluster belongs to another controller"
                        );
                    }
                    return Ok(Known::Foreign);
                }
            },
        };
        let spec = ManagedClusterSpec::of(status);
        let digests = (Some(digest(&spec)), Some(digest(&ManagedClusterStatus::of(status, 0))));
        if (written.spec, written.status) == digests {
            return Ok(Known::Ours(written));
        }
        let parameters = PatchParams::apply(MANAGER).force();
        let (version, kind) = (ManagedCluster::api_version(&()), ManagedCluster::kind(&()));
        for _ in 0..ATTEMPTS {
            if written.spec != digests.0 {
                let object = json!({
                    "apiVersion": version, "kind": kind,
                    "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": MANAGER}},
                    "spec": spec,
                });
                let applied = answered(self.objects.patch(name, &parameters, &Patch::Apply(&object))).await?;
                (written.spec, written.generation) =
                    (digests.0, applied.metadata.generation.unwrap_or_default());
            }
            let object = json!({
                "apiVersion": version, "kind": kind, "metadata": {"name": name},
                "status": ManagedClusterStatus::of(status, written.generation),
            });
            let patch = Patch::Apply(&object);
            let applied = match answered(self.objects.patch_status(name, &parameters, &patch)).await {
                // Somebody has deleted it.
                Err(Failure::Api(kube::Error::Api(refusal))) if refusal.code == 404 => {
                    written.spec = None;
                    continue;
                }
                applied => applied?,
            };
            if applied.metadata.generation == Some(written.generation) {
                written.status = digests.1;
                self.tell(status, &mut written, &applied.object_ref(&())).await;
                return Ok(Known::Ours(written));
            }
            // Somebody has changed the spec, which belongs to the controller.
            written.spec = None;
        }
        Err(Failure::Changed)
    }

    /// Publishes an event if `Ready` has a new reason, or a failure has another message.
    async fn tell(&self, status: &Status, written: &mut Written, object: &ObjectReference) {
        let Some(ready) = status.ready() else { return };
        let published = subject(&ready.reason, &ready.message, status.problem.is_some());
        if written.published.as_ref() == Some(&published) {
            return;
        }
        let kind = if status.problem.is_some() { EventType::Warning } else { EventType::Normal };
        let note = match ready.message.as_str() {
            "" => ready.reason.clone(),
            message => message[..message.floor_char_boundary(NOTE)].to_owned(),
        };
        // Nothing depends on an event.
        let _ = timeout(REQUEST, self.connection.events.publish(object, kind, &ready.reason, note)).await;
        written.published = Some(published);
    }

    async fn remove(&self, cluster: &str) -> Result<(), Failure> {
        match answered(self.objects.get_opt(cluster)).await? {
            Some(object) if object.spec.controller == self.own() => delete(&self.objects, &object).await,
            _ => Ok(()),
        }
    }

    fn own(&self) -> &str {
        &self.connection.shared.configuration.name
    }
}

impl Written {
    /// What an earlier process wrote. The status is written again, which changes nothing if it is the same.
    fn of(object: &ManagedCluster) -> Self {
        let status = object.status.as_ref();
        let ready = status.and_then(|status| status.conditions.iter().find(|one| one.type_ == "Ready"));
        let is_problem = status.is_some_and(|status| status.problem.is_some());
        Self {
            spec: Some(digest(&object.spec)),
            status: None,
            generation: object.metadata.generation.unwrap_or_default(),
            published: ready.map(|ready| subject(&ready.reason, &ready.message, is_problem)),
        }
    }
}

/// The subject of an event. Events with the subject of the last one are not published: a failure has the same subject only with the same message,
/// anything else with the same reason.
fn subject(reason: &str, message: &str, is_problem: bool) -> String {
    if is_problem { format!("{reason}\0{message}") } else { reason.to_owned() }
}

fn digest(value: &impl Serialize) -> Digest {
    Digest::of(&serde_json::to_vec(value).unwrap_or_default())
}
