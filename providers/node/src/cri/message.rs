//! Messages of the CRI, with the fields that are read here.

use std::collections::HashMap;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListPodSandboxes {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListPodSandboxesAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(super) items: Vec<PodSandbox>,
}

/// A pod, as the runtime has it.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PodSandbox {
    /// The runtime's id of the sandbox.
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "2")]
    metadata: Option<Metadata>,
    /// 0 is ready, 1 is not.
    #[prost(int32, tag = "3")]
    state: i32,
    /// The kubelet's labels.
    #[prost(map = "string, string", tag = "5")]
    pub(crate) labels: HashMap<String, String>,
    /// The kubelet's annotations.
    #[prost(map = "string, string", tag = "6")]
    pub(crate) annotations: HashMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
}

/// The pod of a sandbox.
pub(super) struct SandboxOf<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
}

impl PodSandbox {
    pub(super) fn of(&self) -> SandboxOf<'_> {
        match &self.metadata {
            Some(metadata) => SandboxOf { name: &metadata.name, namespace: &metadata.namespace },
            None => SandboxOf { name: "", namespace: "" },
        }
    }

    /// Whether it runs.
    pub(crate) fn is_ready(&self) -> bool {
        self.state == 0
    }

    /// The kubelet's hash of the manifest.
    pub(crate) fn hash(&self) -> &str {
        self.annotations.get("kubernetes.io/config.hash").map_or("", String::as_str)
    }
}

#[cfg(test)]
impl PodSandbox {
    /// A sandbox of a pod that the API has, for tests.
    pub(crate) fn of_api(id: &str, labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Self {
        let texts = |all: &[(&str, &str)]| -> HashMap<String, String> {
            all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let mut annotations = texts(annotations);
        annotations.insert("kubernetes.io/config.source".to_owned(), "api".to_owned());
        Self { labels: texts(labels), annotations, ..Self::of_file(id, "kube-system", id, "", true) }
    }

    /// A sandbox of a manifest, for tests.
    pub(crate) fn of_file(id: &str, namespace: &str, name: &str, hash: &str, is_ready: bool) -> Self {
        let annotation = |name: &str, text: &str| (format!("kubernetes.io/config.{name}"), text.to_owned());
        Self {
            id: id.to_owned(),
            metadata: Some(Metadata { name: name.to_owned(), namespace: namespace.to_owned() }),
            state: i32::from(!is_ready),
            labels: HashMap::new(),
            annotations: HashMap::from([annotation("source", "file"), annotation("hash", hash)]),
        }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListContainers {
    #[prost(message, optional, tag = "1")]
    pub(super) filter: Option<ContainerFilter>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ContainerFilter {
    #[prost(string, tag = "3")]
    pub(super) sandbox: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListContainersAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(super) containers: Vec<Container>,
}

/// A container, as the runtime has it.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Container {
    /// The runtime's id of the container.
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    /// The id of the pod's sandbox.
    #[prost(string, tag = "2")]
    pub(crate) pod: String,
    #[prost(message, optional, tag = "3")]
    metadata: Option<ContainerMetadata>,
    /// 1 is running.
    #[prost(int32, tag = "6")]
    state: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ContainerMetadata {
    #[prost(string, tag = "1")]
    name: String,
    /// How often a container of this name was made in its pod before.
    #[prost(uint32, tag = "2")]
    attempt: u32,
}

impl Container {
    /// Its name in the pod.
    pub(crate) fn name(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.name)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == 1
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state == 2
    }

    /// How often a container of this name was made in its pod before.
    pub(crate) fn attempt(&self) -> u32 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.attempt)
    }
}

#[cfg(test)]
impl Container {
    /// A running container.
    pub(crate) fn running(id: &str, pod: &str, name: &str) -> Self {
        let metadata = Some(ContainerMetadata { name: name.to_owned(), attempt: 0 });
        Self { id: id.to_owned(), pod: pod.to_owned(), metadata, state: 1 }
    }

    /// An ended container, with the number of earlier attempts.
    pub(crate) fn ended(id: &str, pod: &str, name: &str, attempt: u32) -> Self {
        let metadata = Some(ContainerMetadata { name: name.to_owned(), attempt });
        Self { metadata, state: 2, ..Self::running(id, pod, name) }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OfImage {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<ImageSpec>,
}

/// An image by its name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ImageSpec {
    #[prost(string, tag = "1")]
    pub(super) image: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ImageStatusAnswer {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<Image>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Image {
    #[prost(string, tag = "1")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PullImageAnswer {
    #[prost(string, tag = "1")]
    pub(super) image: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StopContainer {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(int64, tag = "2")]
    pub(super) timeout: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SandboxId {
    #[prost(string, tag = "1")]
    pub(super) id: String,
}
