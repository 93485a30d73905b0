use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Architecture;
use crate::value::KubernetesVersion;

/// The container runtime (containerd) on nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContainerRuntime {
    /// The containerd release; absent takes the one that belongs to the Kubernetes release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where images of a registry are fetched from instead, in the order of the documents.
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryMirror {
    /// The registry, as in `docker.io`; `*` for all.
    pub registry: String,
    /// The mirrors' URLs, tried in order.
    pub endpoints: Vec<String>,
}

/// Where images and files are fetched from, for networks without access to the internet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Assets {
    /// The registry that holds a copy of every image; absent fetches each from its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_registry: Option<String>,
    /// The URL that holds a copy of every file; absent fetches each from its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_repository: Option<String>,
    /// The programs that a machine installs when its image lacks them.
    #[serde(skip_serializing_if = "Programs::is_empty")]
    pub programs: Programs,
}

/// Programs of machines, each by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Programs {
    /// Where the files are: URLs of folders (`https://`, `http://`; on AWS also `s3://`), tried in this order.
    pub mirrors: Vec<String>,
    /// The files.
    pub files: Vec<ProgramFile>,
}

impl Programs {
    /// Whether nothing is said of programs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mirrors.is_empty() && self.files.is_empty()
    }
}

/// One file with a program, or with several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramFile {
    /// What it holds.
    pub name: ProgramName,
    /// The processors that it is for.
    #[serde(default)]
    pub architecture: Architecture,
    /// Of a kubelet the Kubernetes release, as in `1.35.2`; absent is for pools of every release. Of other programs the version that
    /// they have to print on hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<KubernetesVersion>,
    /// Its path below a mirror.
    pub path: String,
    /// The SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
}

/// What a file of programs holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProgramName {
    /// Slipway itself, a static program.
    Slipway,
    /// containerd's release archive (gzip): programs below `bin/`.
    Containerd,
    /// runc, the program itself.
    Runc,
    /// The archive (gzip) of the CNI plugins.
    CniPlugins,
    /// The kubelet, the program itself.
    Kubelet,
    /// crictl's release archive (gzip).
    Crictl,
    /// The provider module of the cloud, the program itself: machines prove with it who they are.
    Provider,
}

impl ProgramName {
    /// The name in documents.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Slipway => "slipway",
            Self::Containerd => "containerd",
            Self::Runc => "runc",
            Self::CniPlugins => "cniPlugins",
            Self::Kubelet => "kubelet",
            Self::Crictl => "crictl",
            Self::Provider => "provider",
        }
    }
}

/// A proxy through which nodes reach the outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EgressProxy {
    /// The proxy's URL, with its port.
    pub url: String,
    /// Names and address ranges that are reached without it, beside those of the cluster itself.
    #[serde(default)]
    pub exclusions: Vec<String>,
}
