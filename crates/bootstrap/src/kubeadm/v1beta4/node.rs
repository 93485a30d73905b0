use schemars::JsonSchema;
use serde::Deserialize;

use super::Arg;
use crate::configuration::PullPolicy;

/// What the first control plane does of its own.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct InitConfiguration {
    pub api_version: String,
    pub kind: String,
    pub bootstrap_tokens: Vec<BootstrapToken>,
    pub dry_run: bool,
    pub node_registration: NodeRegistration,
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: ApiEndpoint,
    pub certificate_key: String,
    pub skip_phases: Vec<String>,
    pub patches: Option<Patches>,
    pub timeouts: Option<Timeouts>,
}

/// How a node joins.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct JoinConfiguration {
    pub api_version: String,
    pub kind: String,
    pub dry_run: bool,
    pub node_registration: NodeRegistration,
    pub ca_cert_path: String,
    pub discovery: Discovery,
    pub control_plane: Option<JoinControlPlane>,
    pub skip_phases: Vec<String>,
    pub patches: Option<Patches>,
    pub timeouts: Option<Timeouts>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct NodeRegistration {
    pub name: String,
    pub cri_socket: String,
    pub taints: Option<Vec<Taint>>,
    pub kubelet_extra_args: Vec<Arg>,
    pub ignore_preflight_errors: Vec<String>,
    pub image_pull_policy: Option<PullPolicy>,
    pub image_pull_serial: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
    pub time_added: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct BootstrapToken {
    pub token: String,
    pub description: String,
    pub ttl: Option<String>,
    pub expires: Option<String>,
    pub usages: Vec<String>,
    pub groups: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ApiEndpoint {
    pub advertise_address: String,
    pub bind_port: u16,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Patches {
    pub directory: String,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct JoinControlPlane {
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: ApiEndpoint,
    pub certificate_key: String,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Discovery {
    pub bootstrap_token: Option<BootstrapTokenDiscovery>,
    pub file: Option<FileDiscovery>,
    pub tls_bootstrap_token: String,
    /// Of v1beta3 only.
    pub timeout: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct BootstrapTokenDiscovery {
    pub token: String,
    pub api_server_endpoint: String,
    pub ca_cert_hashes: Vec<String>,
    #[serde(rename = "unsafeSkipCAVerification")]
    pub unsafe_skip_ca_verification: bool,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct FileDiscovery {
    pub kube_config_path: String,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Timeouts {
    pub control_plane_component_health_check: Option<String>,
    pub kubelet_health_check: Option<String>,
    #[serde(rename = "kubernetesAPICall")]
    pub kubernetes_api_call: Option<String>,
    #[serde(rename = "etcdAPICall")]
    pub etcd_api_call: Option<String>,
    pub tls_bootstrap: Option<String>,
    pub discovery: Option<String>,
    pub upgrade_manifests: Option<String>,
}
