use serde::{Deserialize, Serialize};

use super::Argument;

/// The user's additions to a component of the control plane.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Component {
    /// Flags, in the order written. One with the name of a default takes its place.
    pub extra_args: Vec<Argument>,
    /// Folders and files of the host that the component sees.
    pub extra_volumes: Vec<HostPathMount>,
    /// Environment variables: `EnvVar` of the core API, as JSON.
    pub extra_envs: Vec<serde_json::Value>,
}

/// The API server: a component with further names in its certificate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServer {
    /// Flags, volumes and environment.
    pub component: Component,
    /// Further DNS names and IP addresses in the serving certificate, as written.
    pub cert_sans: Vec<String>,
}

/// A folder or file of the host in a component's container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostPathMount {
    /// The volume's name in the pod.
    pub name: String,
    /// The path on the host.
    pub host_path: String,
    /// The path in the container.
    pub mount_path: String,
    /// Whether the container may only read it.
    pub read_only: bool,
    /// `HostPathType` of the core API, as `File` or `DirectoryOrCreate`; empty for any.
    pub path_type: String,
}
