//! The files, mounts and pods of a kubelet on its node.

use std::collections::BTreeSet;
use std::path::PathBuf;

use async_trait::async_trait;
use rustix::mount::{UnmountFlags, unmount};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::cri::Runtime;
use crate::disk::{Access, Disk};
use crate::error::of_path;
use crate::ledger::Found;
use crate::{mounts, purge};

/// The kubelet's folder, its pods and their mounts. Only the folder is made. A deletion removes all that was
/// added since: the runtime's pods, mounts below the folder, and its contents.
pub(crate) struct KubeletState;

/// The names, mounts and pods that existed before.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    names: BTreeSet<String>,
    mounts: BTreeSet<PathBuf>,
    pods: BTreeSet<String>,
    folder: bool,
}

#[async_trait]
impl Kind for KubeletState {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "Pods, mounts and files that a kubelet leaves on its node. They are deleted with the node.",
            10,
            [
                ("path", form::path()),
                (
                    "runtime_endpoint",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The container runtime's socket; else the kubelet's."),
                ),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        // Existing contents are recorded name by name.
        Ok(Found::Nothing)
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        if let Some(memory) = recall::<Memory>(work.place.memory()) {
            return memorise(&memory);
        }
        let pods = match runtime(work).await {
            Some(mut runtime) => runtime.pods().await?.into_iter().map(|pod| pod.id).collect(),
            None => BTreeSet::new(),
        };
        work.blocking(move |work| {
            let disk = &work.host().disk;
            let names = disk.list(work.identity())?.into_iter().collect();
            let mounts = mounts::below(&disk.target(work.identity())?)?.into_iter().collect();
            let folder = disk.status(work.identity())?.is_some();
            memorise(&Memory { names, mounts, pods, folder })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            if disk.status(work.identity())?.is_none() {
                disk.make_directory(work.identity(), Access::mode(0o755))?;
            }
            Ok(work.place.memory().clone())
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let Some(memory) = recall::<Memory>(work.place.memory()) else { return Ok(()) };
        if let Some(mut runtime) = runtime(work).await {
            for pod in runtime.pods().await? {
                // Other programs may use the runtime, too.
                let is_kubelets = pod.labels.contains_key("io.kubernetes.pod.uid");
                if is_kubelets && !memory.pods.contains(&pod.id) {
                    runtime.remove_pod(&pod.id).await?;
                }
            }
        } else {
            work.tell("the container runtime does not answer: pods that still run are not stopped");
        }
        work.blocking(move |work| {
            let disk = &work.host().disk;
            let path = work.identity();
            let place = disk.target(path)?;
            for mount in mounts::below(&place)?.into_iter().filter(|mount| !memory.mounts.contains(mount)) {
                disk.at("unmount");
                let unmounted =
                    unmount(&mount, UnmountFlags::empty()).or_else(|_| unmount(&mount, UnmountFlags::DETACH));
                unmounted.map_err(|error| of_path(&mount, "unmount", &error.into()))?;
            }
            for name in disk.list(path)?.into_iter().filter(|name| !memory.names.contains(name)) {
                take_away(disk, &format!("{path}/{name}"))?;
            }
            if !memory.folder && !purge::if_empty(disk, path)? {
                work.tell(format!("{path} is not empty and stays"));
            }
            Ok(())
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let path = place.identity.as_str();
        let there = place.host.disk.status(path)?.is_some_and(|status| status.is_directory());
        Ok(there.then(|| Value::map([("path", path)])))
    }
}

/// Removes a file, a socket, a link, or a folder with its contents.
fn take_away(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = disk.root().resolve(path)?;
    if place.is_symlink() || !place.is_dir() {
        return disk.remove(path).map(drop);
    }
    purge::folder(disk, path)
}

async fn runtime(work: &Work) -> Option<Runtime> {
    // No pods run below another root than the machine's.
    if !work.host().disk.root().is_machine() {
        return None;
    }
    let asked = [work.wanted(), work.place.wanted()];
    let endpoint = asked.iter().find_map(|wanted| wanted.optional_text("runtime_endpoint").ok().flatten());
    Runtime::of(&work.host().disk, endpoint).await
}
