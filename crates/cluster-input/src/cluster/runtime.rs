use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The container runtime (containerd) on nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerRuntime {
    /// The containerd release; absent takes the one that belongs to the Kubernetes release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where images of a registry are fetched from instead, in the order of the spec.
    pub registry_mirrors: Vec<RegistryMirror>,
    /// The pause image; absent takes the one that belongs to the Kubernetes release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_image: Option<String>,
    /// Further lines of containerd's configuration (TOML), appended as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_config: Option<String>,
}

/// Mirrors of one registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryMirror {
    /// The registry, as in `docker.io`; `*` for all.
    pub registry: String,
    /// The mirrors' URLs, tried in order.
    pub endpoints: Vec<String>,
}

/// Where images and files are fetched from, for networks without access to the internet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Assets {
    /// The registry that holds a copy of every image; absent fetches each from its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_registry: Option<String>,
    /// The URL that holds a copy of every file; absent fetches each from its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_repository: Option<String>,
}

/// A proxy through which nodes reach the outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EgressProxy {
    /// The proxy's URL, with its port.
    pub url: String,
    /// Names and address ranges that are reached without it, beside those of the cluster itself.
    #[serde(default)]
    pub exclusions: Vec<String>,
}
