use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arg, EnvVar};
use crate::configuration::EncryptionAlgorithm;

/// What all nodes of a cluster share.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ClusterConfiguration {
    pub api_version: String,
    pub kind: String,
    pub etcd: Etcd,
    pub networking: Networking,
    pub kubernetes_version: String,
    pub control_plane_endpoint: String,
    pub api_server: ApiServer,
    pub controller_manager: ControlPlaneComponent,
    pub scheduler: ControlPlaneComponent,
    pub dns: Dns,
    pub proxy: Proxy,
    pub certificates_dir: String,
    pub image_repository: String,
    pub feature_gates: BTreeMap<String, bool>,
    pub cluster_name: String,
    pub encryption_algorithm: Option<EncryptionAlgorithm>,
    pub certificate_validity_period: Option<String>,
    pub ca_certificate_validity_period: Option<String>,
}

/// A component of the control plane.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ControlPlaneComponent {
    pub extra_args: Vec<Arg>,
    pub extra_volumes: Vec<HostPathMount>,
    pub extra_envs: Vec<EnvVar>,
}

/// The API server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ApiServer {
    pub extra_args: Vec<Arg>,
    pub extra_volumes: Vec<HostPathMount>,
    pub extra_envs: Vec<EnvVar>,
    #[serde(rename = "certSANs")]
    pub cert_sans: Vec<String>,
    /// Of v1beta3 only.
    pub timeout_for_control_plane: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Dns {
    pub image_repository: String,
    pub image_tag: String,
    pub disabled: bool,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Proxy {
    pub disabled: bool,
}

/// The ranges of services and pods, and the DNS domain.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Networking {
    pub service_subnet: String,
    pub pod_subnet: String,
    pub dns_domain: String,
}

/// etcd: `local` or `external`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct Etcd {
    pub local: Option<LocalEtcd>,
    pub external: Option<ExternalEtcd>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct LocalEtcd {
    pub image_repository: String,
    pub image_tag: String,
    pub data_dir: String,
    pub extra_args: Vec<Arg>,
    pub extra_envs: Vec<EnvVar>,
    #[serde(rename = "serverCertSANs")]
    pub server_cert_sans: Vec<String>,
    #[serde(rename = "peerCertSANs")]
    pub peer_cert_sans: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ExternalEtcd {
    pub endpoints: Vec<String>,
    pub ca_file: String,
    pub cert_file: String,
    pub key_file: String,
}

/// A path of the host in a component's container.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct HostPathMount {
    pub name: String,
    pub host_path: String,
    pub mount_path: String,
    pub read_only: bool,
    pub path_type: String,
}
