//! The documents of `kubeadm.k8s.io/v1beta4` as they are written: everything may be left out.

use schemars::JsonSchema;
use serde::Deserialize;

mod cluster;
mod node;
mod other;

pub(super) use cluster::{
    ApiServer, ClusterConfiguration, ControlPlaneComponent, Etcd, ExternalEtcd, LocalEtcd, Networking,
};
pub(super) use node::{
    ApiEndpoint, BootstrapToken, BootstrapTokenDiscovery, Discovery, InitConfiguration, JoinConfiguration,
    NodeRegistration, Patches, Taint, Timeouts,
};
pub(super) use other::{ResetConfiguration, UpgradeConfiguration};

/// A flag.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Arg {
    /// The flag's name, without hyphens.
    pub name: String,
    /// The flag's value.
    pub value: String,
}

/// An environment variable.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EnvVar {
    /// The variable's name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where its value comes from.
    pub value_from: Option<serde_json::Value>,
}
