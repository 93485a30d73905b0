//! The container runtime, asked by the CRI (`runtime.v1` of kubernetes/cri-api): which pods run, and to stop them.
//!
//! The messages name the fields that are read here; all others are skipped, as protobuf has it.

mod client;
mod message;

use std::time::Duration;

use slipway_resource::ProviderError;

use crate::disk::Disk;
use crate::error::transient;

pub use client::{Client, SOCKETS};
pub(crate) use message::{Container, PodSandbox};
use message::{
    ContainerFilter, ImageSpec, ImageStatusAnswer, OfImage, PullImageAnswer, SandboxId, StopContainer,
};
use message::{
    Empty, ListContainers, ListContainersAnswer, ListPodSandboxes, ListPodSandboxesAnswer, SandboxOf,
};

/// How long the runtime may take to answer, and to stop something.
const ANSWER: Duration = Duration::from_secs(10);
const STOP: Duration = Duration::from_secs(60);

/// How often the runtime is asked again, and the pause in between: five seconds in all.
const ATTEMPTS: u32 = 20;
const STARTING: Duration = Duration::from_millis(250);

/// The files in which the kubelet's runtime is configured.
const KUBELET_FILES: [&str; 2] = ["/var/lib/kubelet/instance-config.yaml", "/var/lib/kubelet/config.yaml"];

/// A container runtime.
pub(crate) struct Runtime {
    client: Client,
}

impl Runtime {
    /// Connects to the runtime of a node: the named one, or the kubelet's, or the first that exists. `None`
    /// when no runtime listens.
    pub(crate) async fn of(disk: &Disk, endpoint: Option<&str>) -> Option<Self> {
        let named = endpoint.map(str::to_owned).or_else(|| configured(disk));
        let places: Vec<String> = match named {
            Some(named) => vec![named],
            None => SOCKETS.map(str::to_owned).to_vec(),
        };
        for place in places {
            let path = place.strip_prefix("unix://").unwrap_or(&place);
            let Ok(socket) = disk.target(path) else { continue };
            if !socket.exists() {
                continue;
            }
            if let Some(client) = Client::connect(&socket).await {
                return Some(Self { client });
            }
        }
        None
    }

    /// The pods that there are, running or not.
    pub(crate) async fn pods(&mut self) -> Result<Vec<PodSandbox>, ProviderError> {
        let mut attempt = 1;
        loop {
            let answer: Result<ListPodSandboxesAnswer, _> =
                self.ask("ListPodSandbox", ListPodSandboxes {}, ANSWER).await;
            match answer {
                Ok(answer) => return Ok(answer.items),
                // A runtime that has just started listens before it knows its pods.
                Err(_) if attempt < ATTEMPTS => {
                    attempt += 1;
                    tokio::time::sleep(STARTING).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The containers of all pods, running or not.
    pub(crate) async fn containers(&mut self) -> Result<Vec<Container>, ProviderError> {
        let request = ListContainers { filter: None };
        let answer: ListContainersAnswer = self.ask("ListContainers", request, ANSWER).await?;
        Ok(answer.containers)
    }

    /// Stops the containers of a pod; the kubelet starts others in their place. Returns those that were stopped.
    pub(crate) async fn stop_containers(&mut self, pod: &str) -> Result<Vec<String>, ProviderError> {
        let filter = ContainerFilter { sandbox: pod.to_owned() };
        let request = ListContainers { filter: Some(filter) };
        let answer: ListContainersAnswer = self.ask("ListContainers", request, ANSWER).await?;
        let mut stopped = Vec::new();
        for container in answer.containers.iter().filter(|container| container.is_running()) {
            let request = StopContainer { id: container.id.clone(), timeout: 30 };
            let Empty {} = self.ask("StopContainer", request, STOP).await?;
            stopped.push(container.id.clone());
        }
        Ok(stopped)
    }

    /// Stops a pod and takes it away.
    pub(crate) async fn remove_pod(&mut self, pod: &str) -> Result<(), ProviderError> {
        let id = SandboxId { id: pod.to_owned() };
        let Empty {} = self.ask("StopPodSandbox", id.clone(), STOP).await?;
        let Empty {} = self.ask("RemovePodSandbox", id, STOP).await?;
        Ok(())
    }

    /// Whether an image is on the node.
    pub(crate) async fn has_image(&mut self, image: &str) -> Result<bool, ProviderError> {
        let answer: Result<ImageStatusAnswer, _> =
            self.client.ask("ImageService/ImageStatus", of_image(image), ANSWER).await;
        let answer =
            answer.map_err(|failure| transient(format!("the container runtime: {}", failure.text)))?;
        Ok(answer.image.is_some_and(|image| !image.id.is_empty()))
    }

    /// Pulls an image; the error is the runtime's message.
    pub(crate) async fn pull_image(&mut self, image: &str, patience: Duration) -> Result<(), String> {
        let answer: Result<PullImageAnswer, _> =
            self.client.ask("ImageService/PullImage", of_image(image), patience).await;
        answer.map(drop).map_err(|failure| failure.text)
    }

    async fn ask<Q, A>(&mut self, method: &str, request: Q, patience: Duration) -> Result<A, ProviderError>
    where
        Q: prost::Message + Default + 'static,
        A: prost::Message + Default + 'static,
    {
        let answer = self.client.ask(&format!("RuntimeService/{method}"), request, patience).await;
        answer.map_err(|failure| transient(format!("the container runtime: {}", failure.text)))
    }
}

fn of_image(image: &str) -> OfImage {
    OfImage { image: Some(ImageSpec { image: image.to_owned() }) }
}

/// The runtime that the kubelet is configured to use.
fn configured(disk: &Disk) -> Option<String> {
    KUBELET_FILES.iter().find_map(|file| {
        let text = disk.read_text(file).ok().flatten()?;
        let document: serde_json::Value = serde_yaml::from_str(&text).ok()?;
        let endpoint = document.get("containerRuntimeEndpoint")?.as_str()?;
        (!endpoint.is_empty()).then(|| endpoint.to_owned())
    })
}

/// The pods that the kubelet has from the API, with this label.
pub(crate) fn of_api<'a>(
    pods: &'a [PodSandbox],
    label: &'a str,
    value: &'a str,
) -> impl Iterator<Item = &'a PodSandbox> {
    pods.iter().filter(move |sandbox| {
        sandbox.annotations.get("kubernetes.io/config.source").is_some_and(|from| from == "api")
            && sandbox.labels.get(label).is_some_and(|there| there == value)
    })
}

/// The pods of one manifest of the kubelet: `pod` in `namespace`. The kubelet appends the node's name to the
/// pod's name. The node's name, which all pods of manifests share, distinguishes `etcd` on `backup-1` from
/// `etcd-backup` on `1`.
pub(crate) fn of_manifest<'a>(
    pods: &'a [PodSandbox],
    namespace: &'a str,
    pod: &'a str,
) -> impl Iterator<Item = &'a PodSandbox> {
    let is_static = |sandbox: &PodSandbox| {
        sandbox.annotations.get("kubernetes.io/config.source").is_some_and(|from| from == "file")
    };
    pods.iter().filter(move |sandbox| {
        let SandboxOf { name, namespace: within } = sandbox.of();
        let node = name.strip_prefix(pod).filter(|rest| rest.starts_with('-'));
        let is_nodes = |node: &str| {
            let mut others = pods.iter().filter(|other| is_static(other) && other.is_ready());
            others.all(|other| other.of().name.ends_with(node))
        };
        is_static(sandbox) && within == namespace && node.is_some_and(is_nodes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_a_manifest_end_in_the_nodes_name() {
        let pod = |id: &str, name: &str| PodSandbox::of_file(id, "kube-system", name, "hash", true);
        let pods = [pod("1", "etcd-n1"), pod("2", "etcd-backup-n1"), pod("3", "kube-apiserver-n1")];
        let found = |name: &'static str| -> Vec<&str> {
            of_manifest(&pods, "kube-system", name).map(|pod| pod.id.as_str()).collect()
        };
        assert_eq!(found("etcd"), ["1"]);
        assert_eq!(found("etcd-backup"), ["2"]);
        assert!(found("kube").is_empty());
        assert_eq!(of_manifest(&pods, "default", "etcd").count(), 0);
    }
}
