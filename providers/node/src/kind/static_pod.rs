//! A pod that the kubelet runs from a file.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Digest, Path, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work, file_digest};
use crate::attributes::Attributes;
use crate::cri::{self, Runtime};
use crate::error::{conflict, invalid};
use crate::ledger::Found;
use crate::ready::{self, Condition, VERIFY};

/// A manifest in the kubelet's folder, and the pod that comes of it.
///
/// What the pod reads when it starts may change without the manifest. A note of that in the manifest would not be
/// kubeadm's; so the containers are stopped by the runtime then, and the kubelet starts them again. Without a runtime
/// that answers, the manifest is taken out of the folder and put back.
pub(crate) struct StaticPod;

/// How long the kubelet has to see a changed manifest: it looks every twenty seconds where it is not told.
const SEEN: Duration = Duration::from_secs(45);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// Digest of the volatile inputs that it was started with.
    inputs: Option<String>,
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
                    "healthy",
                    Attribute::computed(Type::Bool).describe("Whether its ready_url answers as it should."),
                ),
            ],
        );
        kind.attributes.extend(ready::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        kind.operations.insert(VERIFY.to_owned(), ready::operation());
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
                if text.contains("${") || pod_of(text).is_some() {
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
        if !same_manifest || !same_inputs {
            planned.unknown_after.push(Path::key("healthy"));
            planned.disruption = Disruption::Brief;
            planned.reasons.push("the kubelet starts the pod anew".to_owned());
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| match work.host().disk.read_text(work.identity())? {
            None => Ok(Found::Nothing),
            Some(text) if Some(text.as_str()) == work.wanted().optional_text("manifest")? => Ok(Found::Kept),
            Some(_) => {
                let text = format!("{} is there already, and Slipway did not write it", work.identity());
                Err(conflict(text).with_hint("take the cluster over that runs here, or reset the node"))
            }
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let manifest = wanted.text("manifest")?.to_owned();
        let inputs = digest_of(&wanted.map("volatile_inputs")?)?;
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let there = work.host().disk.read_text(work.identity())?;
        let stale = there.is_some()
            && match &memory.inputs {
                Some(known) => *known != inputs,
                // With what another tool has started it, nobody knows.
                None => work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::TakenOver),
            };
        if there.as_deref() != Some(manifest.as_str()) {
            self.write(work, &manifest, there.as_deref()).await?;
        } else if stale {
            self.restart(work, &manifest).await?;
        }
        let access = form::access(&work.host().disk, wanted, "mode", 0o600)?;
        work.blocking(move |work| work.host().disk.set_access(work.identity(), access)).await?;
        Condition::of(wanted)?.wait(work).await?;
        memorise(&Memory { inputs: Some(inputs) })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let text = work.host().disk.read_text(work.identity())?;
        if work.stays() {
            return Ok(());
        }
        work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await?;
        let Some((namespace, name)) = text.as_deref().and_then(pod_of) else { return Ok(()) };
        let Some(mut runtime) = self.runtime(work).await else { return Ok(()) };
        // What it has open must be closed before its data goes.
        let begun = Instant::now();
        loop {
            let pods = runtime.pods().await?;
            let left: Vec<String> = cri::of_manifest(&pods, &namespace, &name)
                .filter(|pod| pod.is_ready())
                .map(|pod| pod.id.clone())
                .collect();
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > SEEN {
                for pod in left {
                    runtime.remove_pod(&pod).await?;
                }
                return Ok(());
            }
            work.pause(Duration::from_millis(250)).await?;
        }
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let path = place.identity.as_str();
        let disk = &place.host.disk;
        let (Some(status), Some(text)) = (disk.status(path)?, disk.read_text(path)?) else { return Ok(None) };
        let mut value = Value::map([("path", path), ("manifest", text.as_str())]);
        let mut set = |name: &str, value_of: Value| value.set(&Path::key(name), value_of);
        set("mode", form::mode_text(status.mode()).into());
        set("sha256", file_digest(text.as_bytes()).into());
        let condition = Condition::of(place.wanted())?;
        if !condition.is_empty() {
            set("healthy", condition.look(disk).await.is_ok().into());
        }
        Ok(Some(value))
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        if name != VERIFY {
            return Err(invalid(format!("a static pod has no operation {name}")));
        }
        let given = Condition::of(Attributes(arguments))?;
        let condition = if given.is_empty() { Condition::of(work.place.wanted())? } else { given };
        condition.wait(work).await?;
        Ok(Applied { identity: Some(work.place.identity.clone()), attributes: Value::Null })
    }
}

impl StaticPod {
    async fn runtime(&self, work: &Work) -> Option<Runtime> {
        let asked = [work.wanted(), work.place.wanted()];
        let endpoint =
            asked.iter().find_map(|wanted| wanted.optional_text("runtime_endpoint").ok().flatten());
        Runtime::of(&work.host().disk, endpoint).await
    }

    /// Writes a manifest. Where one was there, waits until the kubelet has made a new pod of it: the old one would say that
    /// it is ready.
    async fn write(&self, work: &Work, manifest: &str, before: Option<&str>) -> Result<(), ProviderError> {
        let access = form::access(&work.host().disk, work.wanted(), "mode", 0o600)?;
        let name = before.and_then(pod_of);
        let mut runtime = if name.is_some() { self.runtime(work).await } else { None };
        let mut known = Vec::new();
        if let (Some(runtime), Some((namespace, name))) = (&mut runtime, &name) {
            let pods = runtime.pods().await?;
            known = cri::of_manifest(&pods, namespace, name).map(|pod| pod.id.clone()).collect();
        }
        let text = manifest.to_owned();
        work.blocking(move |work| work.host().disk.write(work.identity(), text.as_bytes(), access)).await?;
        if known.is_empty() {
            return Ok(());
        }
        let (Some(mut runtime), Some((namespace, name))) = (runtime, name) else { return Ok(()) };
        let begun = Instant::now();
        loop {
            let pods = runtime.pods().await?;
            let mut ours = cri::of_manifest(&pods, &namespace, &name);
            if ours.any(|pod| pod.is_ready() && !known.contains(&pod.id)) {
                return Ok(());
            }
            if begun.elapsed() > SEEN {
                work.tell("the kubelet has not started the pod anew yet");
                return Ok(());
            }
            work.pause(Duration::from_millis(200)).await?;
        }
    }

    /// Has the kubelet start the pod's containers again.
    async fn restart(&self, work: &Work, manifest: &str) -> Result<(), ProviderError> {
        let Some((namespace, name)) = pod_of(manifest) else { return Ok(()) };
        work.tell("what it reads has changed: its containers are started again");
        if let Some(mut runtime) = self.runtime(work).await {
            let pods = runtime.pods().await?;
            let ours: Vec<String> = cri::of_manifest(&pods, &namespace, &name)
                .filter(|pod| pod.is_ready())
                .map(|pod| pod.id.clone())
                .collect();
            for pod in &ours {
                runtime.stop_containers(pod).await?;
            }
            if !ours.is_empty() {
                return Ok(());
            }
        }
        let access = form::access(&work.host().disk, work.wanted(), "mode", 0o600)?;
        work.blocking(|work| work.host().disk.remove(work.identity()).map(drop)).await?;
        // Long enough for the kubelet's own look at the folder.
        work.pause(Duration::from_secs(21)).await?;
        let text = manifest.to_owned();
        work.blocking(move |work| work.host().disk.write(work.identity(), text.as_bytes(), access)).await
    }
}

/// Namespace and name of the pod of a manifest.
fn pod_of(manifest: &str) -> Option<(String, String)> {
    let document: Json = serde_yaml::from_str(manifest).ok()?;
    let text = |pointer: &str| document.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
    let name = text("/metadata/name").filter(|name| !name.is_empty())?;
    (document.get("kind").and_then(Json::as_str) == Some("Pod"))
        .then(|| (text("/metadata/namespace").unwrap_or_else(|| "default".to_owned()), name))
}

fn digest_of(inputs: &BTreeMap<String, String>) -> Result<String, ProviderError> {
    let digest = Digest::of(inputs).map_err(|error| invalid(error.to_string()))?;
    Ok(digest.as_str().to_owned())
}
