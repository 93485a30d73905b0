//! A pod that the kubelet runs from a file.

mod hand_over;
mod images;
mod manifest;
mod processes;
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, Disruption, PlanItem, Planned, operation};
use slipway_resource::schema::{Operation, Part, Role};
use slipway_resource::{Attribute, Digest, ErrorClass, Path, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work, file_digest};
use crate::attributes::Attributes;
use crate::cri::{self, Runtime};
use crate::disk::{Access, Disk};
use crate::error::{conflict, invalid, transient};
use crate::ledger::{Entry, Found};
use crate::ready::{self, Condition, VERIFY};
use crate::self_hosted::{Lock, Record, revision_of};
use running::Before;

pub(crate) use hand_over::HandOver;
pub(crate) use manifest::Manifest;

/// A manifest in the kubelet's folder, and its pod.
///
/// The files that the pod reads at its start may change without the manifest. kubeadm's manifests have no
/// field for them, so the runtime stops the containers then, and the kubelet starts them again. If the
/// runtime does not answer, the manifest is removed from the folder and put back.
///
/// A changed pod is ready when the runtime reports that the new one runs and the old one does not, and its
/// condition holds. If the runtime does not answer, the processes of the old pod must have ended.
///
/// A pod that a DaemonSet of the cluster runs has its manifest beside the folder. A change of it is tried by the kubelet first, and
/// then carried out by the DaemonSet.
pub(crate) struct StaticPod;

/// The record of a pod.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    /// The digest of the volatile inputs with which it was started.
    inputs: Option<String>,
    /// The manifest and hash of the pod that was waited for last.
    ran: Option<Ran>,
    /// During a change: the kubelet's hashes of the pods that have run since it began.
    replaced: BTreeSet<String>,
}

/// A manifest and the kubelet's hash of its pod.
#[derive(Debug, Serialize, Deserialize)]
struct Ran {
    manifest: String,
    hash: String,
}

impl Memory {
    /// The pods that must end before this manifest runs.
    fn before(&self, manifest: &Manifest) -> Before {
        let mut hashes = self.replaced.clone();
        // A manifest that comes back need not wait for its own pod.
        if let Some(ran) = self.ran.as_ref().filter(|ran| ran.manifest == manifest.digest) {
            hashes.remove(&ran.hash);
        }
        Before { hashes, ..Before::default() }
    }
}

#[async_trait]
impl Kind for StaticPod {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "A pod that the kubelet runs from a file.",
            5_000,
            [
                ("path", form::path()),
                ("manifest", Attribute::required(Type::String).describe("The pod, as YAML.")),
                ("mode", form::mode("0600")),
                (
                    "volatile_inputs",
                    Attribute::optional(Type::map(Type::String)).write_only().describe(
                        "Digests of what it reads when it starts, as certificates: it is restarted when one changes.",
                    ),
                ),
                (
                    "ready_later",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether it gets ready only by what comes after it, the first time: then nothing is waited for until \
                         it is changed.",
                    ),
                ),
                (
                    "runtime_endpoint",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The container runtime's socket; else the kubelet's."),
                ),
                (
                    "sha256",
                    Attribute::computed(Type::String).describe("Digest of the manifest in hexadecimal digits."),
                ),
                (
                    "settled",
                    Attribute::optional(Type::Bool).default_to(true).describe(
                        "Whether the last change of it has come to its end: it is waited for again otherwise. Not to be set.",
                    ),
                ),
                (
                    "healthy",
                    Attribute::computed(Type::Bool).describe("Whether its ready_url answers as it should."),
                ),
            ],
        );
        kind.attributes.extend(ready::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        kind.roles.push(Role::of(Part::ApiServer, "kube-apiserver"));
        kind.operations.insert(VERIFY.to_owned(), ready::operation());
        let prepare = Operation {
            description: "Makes sure that images are on the node: the argument `images` names them."
                .to_owned(),
            duration_ms: 5_000,
            read_only: false,
        };
        kind.operations.insert(operation::PREPARE.to_owned(), prepare);
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_mode(planned, "mode")?;
        let manifest = planned.normalised.get("manifest");
        let digest = match manifest {
            Some(Value::String(text)) => {
                if text.contains("${") || Manifest::of(text).is_some() {
                    file_digest(text.as_bytes()).into()
                } else {
                    return Err(invalid("manifest: it is not the YAML of a pod with a name"));
                }
            }
            _ => Value::Unknown,
        };
        let Some(observed) = &item.observed else {
            planned.normalised.set(&Path::key("sha256"), digest);
            return Ok(());
        };
        let inputs = |value: Option<&Value>| value.and_then(|value| value.get("volatile_inputs").cloned());
        let same_manifest = manifest == observed.get("manifest");
        let same_inputs = item.last_applied.is_none()
            || inputs(item.last_applied.as_ref()) == inputs(Some(&planned.normalised));
        planned.normalised.set(&Path::key("sha256"), digest);
        if let (Some(wanted), Some(there)) =
            (manifest_of(Some(&planned.normalised)), manifest_of(Some(observed)))
        {
            let images = images::new_ones(&wanted, &there);
            if !images.is_empty() {
                let images = Value::list(images.iter().map(String::as_str));
                planned.prepare = Some(Value::map([("images", images)]));
            }
        }
        if !same_manifest || !same_inputs {
            planned.unknown_after.push(Path::key("healthy"));
            planned.disruption = Disruption::Brief;
            planned.reasons.push("the kubelet restarts the pod".to_owned());
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| match text_of(&work.host().disk, work.identity())? {
            None => Ok(Found::Nothing),
            Some(text) if Some(text.as_str()) == work.wanted().optional_text("manifest")? => Ok(Found::Kept),
            Some(_) => {
                let text = format!("{} is there already, and Slipway did not write it", work.identity());
                Err(conflict(text).with_hint("take the cluster over that runs here with `slipway adopt`; only to give it up: `slipway node reset` or `kubeadm reset` on the node destroys the node, with the data of its etcd"))
            }
        })
        .await
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        let mut memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let wanted = Manifest::needed(work.wanted().text("manifest")?)?;
        let there = work.host().disk.read_text(work.identity())?;
        let there = there.as_deref().and_then(Manifest::of).filter(|there| there.digest != wanted.digest);
        if let (Some(there), Some(mut runtime)) = (there, self.runtime(work).await) {
            let hashes = running::hashes(&mut runtime, &there).await?;
            if let (None, 1, Some(hash)) = (&memory.ran, hashes.len(), hashes.first()) {
                memory.ran = Some(Ran { manifest: there.digest, hash: hash.clone() });
            }
            memory.replaced.extend(hashes);
        }
        memorise(&memory)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        if Record::of(&work.host().disk, work.identity())?.is_some() {
            let _lock = Lock::take(work).await?;
            // The kubelet may have taken it back while the lock was waited for.
            if let Some(record) = Record::of(&work.host().disk, work.identity())? {
                return self.make_hosted(work, record).await;
            }
        }
        let wanted = work.wanted();
        let (text, disk) = (wanted.text("manifest")?, &work.host().disk);
        let manifest = Manifest::needed(text)?;
        let inputs = digest_of(&wanted.map("volatile_inputs")?)?;
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let access = form::access(disk, wanted, "mode", 0o600)?;
        let there = disk.read_text(work.identity())?;
        let mut runtime = self.runtime(work).await;
        let mut before = memory.before(&manifest);
        let mut processes = BTreeSet::new();
        let old = there.as_deref().and_then(Manifest::of).filter(|old| old.digest != manifest.digest);
        if there.as_deref() != Some(text) {
            self.images(work, runtime.as_mut(), &manifest, old.as_ref()).await?;
            if let (Some(there), None) = (there.as_deref().and_then(Manifest::of), &runtime)
                && there.digest != manifest.digest
            {
                processes = processes::of(work, &there);
            }
            write(work, text, access).await?;
        } else if is_stale(work, &memory, &inputs) {
            work.tell("what it reads has changed: its containers are started again");
            processes = if runtime.is_none() { processes::of(work, &manifest) } else { processes };
            before.containers = restart(work, runtime.as_mut(), &manifest, text, access).await?;
        }
        work.blocking(move |work| work.host().disk.set_access(work.identity(), access)).await?;
        // The first creation has not ended while the inputs of its start are not recorded.
        let is_first = memory.inputs.is_none();
        let mut condition = Condition::of(wanted)?;
        if is_first && wanted.flag("ready_later") {
            condition = condition.waived();
        }
        let outcome = comes_up(work, runtime.as_mut(), &manifest, &before, processes, &condition).await;
        if let Err(error) = outcome {
            let old = there.as_deref().zip(old.as_ref()).filter(|_| !is_first && is_final(work, &error));
            return Err(match old {
                Some(old) => {
                    put_back(work, runtime.as_mut(), &manifest, old, access, &condition, error).await?
                }
                None => error,
            });
        }
        let hashes = match &mut runtime {
            Some(runtime) => running::hashes(runtime, &manifest).await.unwrap_or_default(),
            None => BTreeSet::new(),
        };
        let hash = (hashes.len() == 1).then(|| hashes.into_iter().next()).flatten();
        let ran = hash.map(|hash| Ran { manifest: manifest.digest, hash });
        memorise(&Memory { inputs: Some(inputs), ran, replaced: BTreeSet::new() })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        if work.stays() {
            return Ok(());
        }
        // Only where the way back was left out: what is gone here must not be recovered, not even by a recovery that is at work.
        let _lock = match Record::of(&work.host().disk, work.identity())? {
            Some(_) => Some(Lock::take(work).await?),
            None => None,
        };
        if let Some(record) = Record::of(&work.host().disk, work.identity())? {
            record.forget(&work.host().disk)?;
        }
        let text = work.host().disk.read_text(work.identity())?;
        let manifest = text.as_deref().and_then(Manifest::of);
        let mut runtime = self.runtime(work).await;
        let processes = match (&manifest, &runtime) {
            (Some(manifest), None) => processes::of(work, manifest),
            _ => BTreeSet::new(),
        };
        work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await?;
        let Some(manifest) = manifest else { return Ok(()) };
        // The pod must close its files before its data is deleted.
        match &mut runtime {
            Some(runtime) => running::ended(work, runtime, &manifest).await,
            None => processes::ended(work, &manifest, processes).await,
        }
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let path = place.identity.as_str();
        let disk = &place.host.disk;
        let there = Record::of(disk, path)?.map_or_else(|| path.to_owned(), |record| record.manifest_path());
        let (Some(status), Some(text)) = (disk.status(&there)?, disk.read_text(&there)?) else {
            return Ok(None);
        };
        let mut value = Value::map([("path", path), ("manifest", text.as_str())]);
        let mut set = |name: &str, value_of: Value| value.set(&Path::key(name), value_of);
        set("mode", form::mode_text(status.mode()).into());
        set("sha256", file_digest(text.as_bytes()).into());
        set("settled", place.entry.as_ref().is_none_or(Entry::has_ended).into());
        let condition = Condition::of(place.wanted())?;
        if !condition.is_empty() {
            set("healthy", condition.look(disk).await.is_ok().into());
        }
        Ok(Some(value))
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        if name == operation::PREPARE {
            let images: BTreeSet<String> = Attributes(arguments).texts("images").into_iter().collect();
            match self.runtime(work).await {
                Some(mut runtime) => images::need(work, &mut runtime, &images).await?,
                None => return Err(images::unverified(&images)),
            }
            return Ok(Applied::new(work.place.identity.clone(), Value::Null));
        }
        if name != VERIFY {
            return Err(invalid(format!("a static pod has no operation {name}")));
        }
        let given = Condition::of(Attributes(arguments))?;
        let condition = if given.is_empty() { Condition::of(work.place.wanted())? } else { given };
        condition.wait(work).await?;
        Ok(Applied::new(work.place.identity.clone(), Value::Null))
    }
}

impl StaticPod {
    /// Makes a pod that a DaemonSet runs as desired. Its caller has the lock.
    async fn make_hosted(&self, work: &Work, record: Record) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let (text, disk) = (wanted.text("manifest")?, &work.host().disk);
        let manifest = Manifest::needed(text)?;
        let inputs = digest_of(&wanted.map("volatile_inputs")?)?;
        let access = form::access(disk, wanted, "mode", 0o600)?;
        let mut runtime =
            self.runtime(work).await.ok_or_else(|| transient("the container runtime does not answer"))?;
        let old = Manifest::of(&record.manifest(disk)?);
        self.images(work, Some(&mut runtime), &manifest, old.as_ref()).await?;
        let record = Record { revision: revision_of(text, &inputs)?, ..record };
        let path = record.manifest_path();
        let condition = Condition::of(wanted)?;
        HandOver { record, text, condition: &condition }.run(work, &mut runtime).await?;
        disk.set_access(&path, access)?;
        memorise(&Memory { inputs: Some(inputs), ran: None, replaced: BTreeSet::new() })
    }

    /// Checks that the images of a manifest are on the node before it is written, as kubeadm does: a pod
    /// without its image would be waited for in vain. If this would replace a running pod, an unknown result
    /// is an error.
    async fn images(
        &self,
        work: &Work,
        runtime: Option<&mut Runtime>,
        manifest: &Manifest,
        old: Option<&Manifest>,
    ) -> Result<(), ProviderError> {
        let images = old.map_or_else(|| manifest.images.clone(), |old| images::new_ones(manifest, old));
        match runtime {
            _ if images.is_empty() => Ok(()),
            Some(runtime) => images::need(work, runtime, &images).await,
            None if old.is_some() && work.host().disk.root().is_machine() => Err(images::unverified(&images)),
            _ => Ok(()),
        }
    }

    async fn runtime(&self, work: &Work) -> Option<Runtime> {
        let asked = [work.wanted(), work.place.wanted()];
        let endpoint =
            asked.iter().find_map(|wanted| wanted.optional_text("runtime_endpoint").ok().flatten());
        Runtime::of(&work.host().disk, endpoint).await
    }
}

/// The images of a pod's manifest, each once; none of a text that is no pod.
#[must_use]
pub fn images_of_pod(manifest: &str) -> BTreeSet<String> {
    Manifest::of(manifest).map(|manifest| manifest.images).unwrap_or_default()
}

/// The text of a manifest: that in the kubelet's folder, or the one beside it while a DaemonSet runs the pod.
fn text_of(disk: &Disk, path: &str) -> Result<Option<String>, ProviderError> {
    match Record::of(disk, path)? {
        Some(record) => record.manifest(disk).map(Some),
        None => disk.read_text(path),
    }
}

/// The manifest among the attributes of a pod.
fn manifest_of(attributes: Option<&Value>) -> Option<Manifest> {
    Manifest::of(attributes?.get("manifest")?.as_str()?)
}

/// Waits until the pod of a manifest runs in place of the old one, and is ready.
async fn comes_up(
    work: &Work,
    runtime: Option<&mut Runtime>,
    manifest: &Manifest,
    before: &Before,
    processes: BTreeSet<(u32, u64)>,
    condition: &Condition,
) -> Result<(), ProviderError> {
    match runtime {
        Some(runtime) if !before.is_empty() => {
            running::wait(work, runtime, manifest, before, condition).await
        }
        _ => {
            processes::ended(work, manifest, processes).await?;
            condition.wait(work).await
        }
    }
}

/// Whether the pod itself failed, and the step was neither stopped nor out of time.
fn is_final(work: &Work, error: &ProviderError) -> bool {
    error.class == ErrorClass::Permanent && Instant::now() + Duration::from_secs(1) < work.deadline
}

/// Puts the old manifest back after the new pod failed to start, and waits for the old pod. Returns the
/// failure, with the result of the rollback.
async fn put_back(
    work: &Work,
    runtime: Option<&mut Runtime>,
    failed: &Manifest,
    (text, old): (&str, &Manifest),
    access: Access,
    condition: &Condition,
    error: ProviderError,
) -> Result<ProviderError, ProviderError> {
    work.tell(format!("{}; the manifest before comes back", error.message));
    let (mut before, mut runtime) = (Before::default(), runtime);
    let mut processes = BTreeSet::new();
    match &mut runtime {
        Some(runtime) => before.hashes = running::hashes(runtime, failed).await?,
        None => processes = processes::of(work, failed),
    }
    let memory: Memory = recall(work.place.memory()).unwrap_or_default();
    before.hashes.retain(|hash| !memory.replaced.contains(hash));
    write(work, text, access).await?;
    let came_back = match comes_up(work, runtime, old, &before, processes, condition).await {
        Ok(()) => "the manifest before was put back, and its pod is ready again".to_owned(),
        Err(error) => {
            format!("the manifest before was put back, and its pod is not ready yet: {}", error.message)
        }
    };
    Ok(ProviderError { message: format!("{}; {came_back}", error.message), ..error })
}

/// Whether it was started with other inputs than there are now.
fn is_stale(work: &Work, memory: &Memory, inputs: &str) -> bool {
    match &memory.inputs {
        Some(known) => known != inputs,
        // For a pod that another tool has started, the inputs are unknown.
        None => work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::TakenOver),
    }
}

async fn write(work: &Work, text: &str, access: Access) -> Result<(), ProviderError> {
    let text = text.to_owned();
    work.blocking(move |work| work.host().disk.write(work.identity(), text.as_bytes(), access)).await
}

/// Makes the kubelet restart the pod's stopped containers.
async fn restart(
    work: &Work,
    runtime: Option<&mut Runtime>,
    manifest: &Manifest,
    text: &str,
    access: Access,
) -> Result<BTreeSet<String>, ProviderError> {
    let mut stopped = BTreeSet::new();
    if let Some(runtime) = runtime {
        let pods = runtime.pods().await?;
        for pod in cri::of_manifest(&pods, &manifest.namespace, &manifest.name).filter(|pod| pod.is_ready()) {
            stopped.extend(runtime.stop_containers(&pod.id).await?);
        }
    }
    if stopped.is_empty() {
        work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await?;
        // Long enough for the kubelet's own look at the folder.
        work.pause(Duration::from_secs(21)).await?;
        write(work, text, access).await?;
    }
    Ok(stopped)
}

fn digest_of(inputs: &BTreeMap<String, String>) -> Result<String, ProviderError> {
    let digest = Digest::of(inputs).map_err(|error| invalid(error.to_string()))?;
    Ok(digest.as_str().to_owned())
}
