//! A component of the control plane that the cluster runs itself.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::static_pod::HandOver;
use super::{Kind, Manifest, Place, Work};
use crate::api_server;
use crate::attributes::Attributes;
use crate::cri::Runtime;
use crate::disk::Disk;
use crate::error::{not_found, transient};
use crate::ledger::{Found, Stage};
use crate::ready::{self, Condition};
use crate::self_hosted::{Access, Lock, Record, Seen, revision_of, shared};

/// A static pod that a DaemonSet of the cluster runs. Its manifest stays on the disk, where the recovery finds it.
///
/// It is created when the DaemonSet takes the pod over from the kubelet, and deleted when the kubelet takes it back.
pub(crate) struct SelfHostedPod;

/// What is known while the pod is on its way to the DaemonSet.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// The manifest of the static pod before the first attempt.
    #[serde(default)]
    manifest: Option<String>,
}

#[async_trait]
impl Kind for SelfHostedPod {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "A component of the control plane that runs as a DaemonSet of the cluster, in place of a static pod. The manifest of the \
             static pod stays on the machine, which starts it while the DaemonSet does not run.",
            45_000,
            [
                ("path", form::path()),
                ("node", Attribute::required(Type::String).immutable().describe("The name of the node.")),
                (
                    "runtime_endpoint",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The container runtime's socket; else the kubelet's."),
                ),
                (
                    "running",
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .describe("Whether the DaemonSet alone runs the pod. Not to be set."),
                ),
            ],
        );
        let further = api_server::access_attributes().into_iter().chain(ready::attributes());
        kind.attributes.extend(further.map(|(name, attribute)| (name.to_owned(), attribute)));
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        let running = |value: &Value| value.get("running").and_then(Value::as_bool);
        if item.observed.as_ref().is_some_and(|observed| running(observed) != running(&planned.normalised)) {
            planned.disruption = Disruption::Brief;
            planned.reasons.push("the DaemonSet takes the pod over from the kubelet".to_owned());
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        let is_recorded = Record::of(&work.host().disk, work.identity())?.is_some();
        memorise(&Memory { manifest: if is_recorded { None } else { own_manifest(work)? } })
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let (wanted, disk) = (work.wanted(), &work.host().disk);
        let path = work.identity();
        let _lock = Lock::take(work).await?;
        let former = Record::of(disk, path)?;
        let text = match &former {
            Some(former) => former.manifest(disk)?,
            None => own_manifest(work)?.ok_or_else(|| not_found(format!("{path} is not there")))?,
        };
        let revision = match former {
            Some(former) => former.revision,
            None => revision_of(&text, "")?,
        };
        let record = wanted_record(path, wanted, revision)?;
        let mut runtime = runtime(disk, wanted).await?;
        let condition = Condition::of(wanted)?;
        HandOver { record, text: &text, condition: &condition }.run(work, &mut runtime).await?;
        Ok(Json::Null)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let disk = &work.host().disk;
        let wanted = work.place.wanted();
        let condition = Condition::of(wanted)?;
        let _lock = Lock::take(work).await?;
        if let Some(record) = Record::of(disk, work.identity())? {
            let text = record.manifest(disk)?;
            let runtime = Runtime::of(disk, record.runtime_endpoint.as_deref()).await;
            let hand_over = HandOver { record, text: &text, condition: &condition };
            return match runtime {
                Some(mut runtime) => hand_over.back(work, &mut runtime).await,
                None => hand_over.back_unseen(work).await,
            };
        }
        // The kubelet has it back already. The DaemonSet may have stayed, as after a way back by hand.
        let Some(text) = disk.read_text(work.identity())? else { return Ok(()) };
        let record = wanted_record(work.identity(), wanted, String::new())?;
        HandOver { record, text: &text, condition: &condition }.without_daemon_set(work).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let (path, disk) = (place.identity.as_str(), &place.host.disk);
        let (node, running) = match Record::of(disk, path)? {
            Some(record) => (record.node.clone(), is_running(disk, &record).await?),
            // After a way back by hand, the DaemonSet is there still.
            None if place.entry.as_ref().is_some_and(|entry| entry.stage != Stage::Creating) => {
                (place.wanted().optional_text("node")?.unwrap_or_default().to_owned(), false)
            }
            None => return Ok(None),
        };
        let attributes = [("path", Value::from(path)), ("node", node.into()), ("running", running.into())];
        Ok(Some(Value::map(attributes)))
    }
}

/// The manifest in the kubelet's folder without what the hand-over adds: an attempt that was interrupted may have written it there,
/// before it recorded the manifest.
fn own_manifest(work: &Work) -> Result<Option<String>, ProviderError> {
    let Some(there) = work.host().disk.read_text(work.identity())? else { return Ok(None) };
    let memory: Memory = recall(work.place.memory()).unwrap_or_default();
    let is_shared = |own: &String| shared(own).is_ok_and(|shared| shared == there);
    Ok(Some(memory.manifest.filter(is_shared).unwrap_or(there)))
}

/// The record that attributes ask for.
fn wanted_record(path: &str, wanted: Attributes<'_>, revision: String) -> Result<Record, ProviderError> {
    let text = |name: &str| wanted.text(name).map(str::to_owned);
    Ok(Record {
        path: path.to_owned(),
        node: text("node")?,
        revision,
        api: Access {
            url: text("api_url")?,
            ca_path: text("api_ca_path")?,
            cert_path: text("api_cert_path")?,
            key_path: text("api_key_path")?,
        },
        runtime_endpoint: wanted.optional_text("runtime_endpoint")?.map(str::to_owned),
    })
}

async fn runtime(disk: &Disk, wanted: Attributes<'_>) -> Result<Runtime, ProviderError> {
    let runtime = Runtime::of(disk, wanted.optional_text("runtime_endpoint")?).await;
    runtime.ok_or_else(|| transient("the container runtime does not answer"))
}

/// Whether the pod of the DaemonSet runs, and none from the kubelet's folder.
async fn is_running(disk: &Disk, record: &Record) -> Result<bool, ProviderError> {
    if disk.status(&record.path)?.is_some() {
        return Ok(false);
    }
    let Some(manifest) = Manifest::of(&record.manifest(disk)?) else { return Ok(false) };
    let Some(mut runtime) = Runtime::of(disk, record.runtime_endpoint.as_deref()).await else {
        return Ok(false);
    };
    let (pods, containers) = (runtime.pods().await?, runtime.containers().await?);
    let seen = Seen::of(&pods, &containers, &manifest);
    Ok(seen.hosted.iter().any(|hosted| hosted.revision == record.revision))
}
