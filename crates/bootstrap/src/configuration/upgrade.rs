use serde::{Deserialize, Serialize};

use super::{PullPolicy, Timeouts};

/// How a cluster is upgraded: kubeadm's `UpgradeConfiguration`. `Option`s are what the document leaves open.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upgrade {
    /// The first control plane.
    pub apply: UpgradeApply,
    /// The preview.
    pub diff: UpgradeDiff,
    /// Every other node.
    pub node: UpgradeNode,
    /// The look ahead.
    pub plan: UpgradePlan,
    /// How long it waits for what.
    pub timeouts: Timeouts,
}

/// Settings of `upgrade apply`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpgradeApply {
    /// The release to go to.
    pub kubernetes_version: Option<String>,
    /// Whether alphas and betas may be gone to.
    pub allow_experimental_upgrades: Option<bool>,
    /// Whether release candidates may be gone to.
    pub allow_rc_upgrades: Option<bool>,
    /// Whether certificates are renewed.
    pub certificate_renewal: bool,
    /// Whether nothing is changed.
    pub dry_run: Option<bool>,
    /// Whether etcd is upgraded.
    pub etcd_upgrade: bool,
    /// Whether the upgrade continues in spite of problems that can be ignored.
    pub force_upgrade: Option<bool>,
    /// Names of preflight checks whose failure is a warning; `all` for every one.
    pub ignore_preflight_errors: Vec<String>,
    /// The folder of patches.
    pub patches_directory: Option<String>,
    /// Whether the configuration is printed.
    pub print_config: Option<bool>,
    /// Phases that are left out.
    pub skip_phases: Vec<String>,
    /// When images are pulled.
    pub image_pull_policy: PullPolicy,
    /// Whether images are pulled one after the other.
    pub image_pull_serial: bool,
}

impl Default for UpgradeApply {
    fn default() -> Self {
        Self {
            kubernetes_version: None,
            allow_experimental_upgrades: None,
            allow_rc_upgrades: None,
            certificate_renewal: true,
            dry_run: None,
            etcd_upgrade: true,
            force_upgrade: None,
            ignore_preflight_errors: Vec::new(),
            patches_directory: None,
            print_config: None,
            skip_phases: Vec::new(),
            image_pull_policy: PullPolicy::IfNotPresent,
            image_pull_serial: true,
        }
    }
}

/// Settings of `upgrade diff`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpgradeDiff {
    /// The release to go to.
    pub kubernetes_version: Option<String>,
    /// The number of lines around a change.
    pub context_lines: Option<u32>,
}

/// Settings of `upgrade node`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpgradeNode {
    /// Whether certificates are renewed.
    pub certificate_renewal: bool,
    /// Whether nothing is changed.
    pub dry_run: Option<bool>,
    /// Whether etcd is upgraded.
    pub etcd_upgrade: bool,
    /// Names of preflight checks whose failure is a warning; `all` for every one.
    pub ignore_preflight_errors: Vec<String>,
    /// Phases that are left out.
    pub skip_phases: Vec<String>,
    /// The folder of patches.
    pub patches_directory: Option<String>,
    /// When images are pulled.
    pub image_pull_policy: PullPolicy,
    /// Whether images are pulled one after the other.
    pub image_pull_serial: bool,
}

impl Default for UpgradeNode {
    fn default() -> Self {
        Self {
            certificate_renewal: true,
            dry_run: None,
            etcd_upgrade: true,
            ignore_preflight_errors: Vec::new(),
            skip_phases: Vec::new(),
            patches_directory: None,
            image_pull_policy: PullPolicy::IfNotPresent,
            image_pull_serial: true,
        }
    }
}

/// Settings of `upgrade plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpgradePlan {
    /// The release to go to.
    pub kubernetes_version: Option<String>,
    /// Whether alphas and betas may be gone to.
    pub allow_experimental_upgrades: Option<bool>,
    /// Whether release candidates may be gone to.
    pub allow_rc_upgrades: Option<bool>,
    /// Whether nothing is changed.
    pub dry_run: Option<bool>,
    /// Whether etcd is upgraded.
    pub etcd_upgrade: bool,
    /// Names of preflight checks whose failure is a warning; `all` for every one.
    pub ignore_preflight_errors: Vec<String>,
    /// Whether the configuration is printed.
    pub print_config: Option<bool>,
}

impl Default for UpgradePlan {
    fn default() -> Self {
        Self {
            kubernetes_version: None,
            allow_experimental_upgrades: None,
            allow_rc_upgrades: None,
            dry_run: None,
            etcd_upgrade: true,
            ignore_preflight_errors: Vec::new(),
            print_config: None,
        }
    }
}
