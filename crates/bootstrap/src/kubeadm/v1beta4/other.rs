use schemars::JsonSchema;
use serde::Deserialize;

use super::{Patches, Timeouts};
use crate::configuration::{PullPolicy, UnmountFlag};

/// How a node is reset.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct ResetConfiguration {
    pub api_version: String,
    pub kind: String,
    pub cleanup_tmp_dir: bool,
    pub certificates_dir: String,
    pub cri_socket: String,
    pub dry_run: bool,
    pub force: bool,
    pub ignore_preflight_errors: Vec<String>,
    pub skip_phases: Vec<String>,
    pub unmount_flags: Vec<UnmountFlag>,
    pub timeouts: Option<Timeouts>,
}

/// How a cluster is upgraded.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct UpgradeConfiguration {
    pub api_version: String,
    pub kind: String,
    pub apply: UpgradeApply,
    pub diff: UpgradeDiff,
    pub node: UpgradeNode,
    pub plan: UpgradePlan,
    pub timeouts: Option<Timeouts>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct UpgradeApply {
    pub kubernetes_version: String,
    pub allow_experimental_upgrades: Option<bool>,
    #[serde(rename = "allowRCUpgrades")]
    pub allow_rc_upgrades: Option<bool>,
    pub certificate_renewal: Option<bool>,
    pub dry_run: Option<bool>,
    pub etcd_upgrade: Option<bool>,
    pub force_upgrade: Option<bool>,
    pub ignore_preflight_errors: Vec<String>,
    pub patches: Option<Patches>,
    pub print_config: Option<bool>,
    pub skip_phases: Vec<String>,
    pub image_pull_policy: Option<PullPolicy>,
    pub image_pull_serial: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct UpgradeDiff {
    pub kubernetes_version: String,
    pub context_lines: u32,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct UpgradeNode {
    pub certificate_renewal: Option<bool>,
    pub dry_run: Option<bool>,
    pub etcd_upgrade: Option<bool>,
    pub ignore_preflight_errors: Vec<String>,
    pub skip_phases: Vec<String>,
    pub patches: Option<Patches>,
    pub image_pull_policy: Option<PullPolicy>,
    pub image_pull_serial: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::kubeadm) struct UpgradePlan {
    pub kubernetes_version: String,
    pub allow_experimental_upgrades: Option<bool>,
    #[serde(rename = "allowRCUpgrades")]
    pub allow_rc_upgrades: Option<bool>,
    pub dry_run: Option<bool>,
    pub etcd_upgrade: Option<bool>,
    pub ignore_preflight_errors: Vec<String>,
    pub print_config: Option<bool>,
}
