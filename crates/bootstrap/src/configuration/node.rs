use std::{fmt, net::IpAddr};

use serde::{Deserialize, Serialize};
use slipway_resource::Secret;

use super::{Argument, Detected, GoDuration, Timeouts};

/// What is one node's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSettings {
    /// The node's name in the cluster, a DNS name.
    pub name: String,
    /// The CRI endpoint, a `unix://` URL; absent when the host has several and none was chosen, which preflight refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cri_socket: Option<String>,
    /// The taints with which the node registers; empty for none. `None` leaves the default of its role: the control
    /// plane's taint there, none on a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Flags of the kubelet, in the order written.
    pub kubelet_extra_args: Vec<Argument>,
    /// Names of preflight checks whose failure is a warning; `all` for every one.
    pub ignore_preflight_errors: Vec<String>,
    /// When images are pulled.
    pub image_pull_policy: PullPolicy,
    /// Whether images are pulled one after the other.
    pub image_pull_serial: bool,
    /// The address that this node's API server and etcd member advertise.
    pub advertise_address: IpAddr,
    /// The name of this node's member of etcd, where its data is on a volume that outlives the node. The member then keeps its
    /// name on the next node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_member: Option<String>,
    /// The port of this node's API server.
    pub bind_port: u16,
    /// Bootstrap tokens that are made.
    pub bootstrap_tokens: Vec<BootstrapTokenSettings>,
    /// The key, 64 hexadecimal digits, under which shared certificates are uploaded or were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_key: Option<Secret>,
    /// Phases that are left out.
    pub skip_phases: Vec<String>,
    /// The folder of patches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patches_directory: Option<String>,
    /// How long it waits for what.
    pub timeouts: Timeouts,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

impl NodeSettings {
    /// kubeadm's defaults for the first control plane.
    #[must_use]
    pub fn control_plane(detected: &Detected) -> Self {
        Self { bootstrap_tokens: vec![BootstrapTokenSettings::default()], ..Self::worker(detected) }
    }

    /// kubeadm's defaults for a node that joins.
    #[must_use]
    pub fn worker(detected: &Detected) -> Self {
        Self {
            name: detected.hostname.clone(),
            cri_socket: detected.cri_socket().map(ToOwned::to_owned),
            taints: None,
            kubelet_extra_args: Vec::new(),
            ignore_preflight_errors: Vec::new(),
            image_pull_policy: PullPolicy::IfNotPresent,
            image_pull_serial: true,
            advertise_address: detected.address,
            etcd_member: None,
            bind_port: 6443,
            bootstrap_tokens: Vec::new(),
            certificate_key: None,
            skip_phases: Vec::new(),
            patches_directory: None,
            timeouts: Timeouts::default(),
            dry_run: false,
        }
    }

    /// The name of this node's member of etcd: that of the node, unless the member has a name of its own.
    #[must_use]
    pub fn member_name(&self) -> &str {
        self.etcd_member.as_deref().unwrap_or(&self.name)
    }

    /// The taints that the node gets: those given, or its role's.
    #[must_use]
    pub fn effective_taints(&self, control_plane: bool) -> Vec<Taint> {
        match &self.taints {
            Some(taints) => taints.clone(),
            None if control_plane => vec![Taint::control_plane()],
            None => Vec::new(),
        }
    }
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Its key, a qualified name.
    pub key: String,
    /// Its value; may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl Taint {
    /// The taint that keeps ordinary pods off control planes.
    #[must_use]
    pub fn control_plane() -> Self {
        Self {
            key: "node-role.kubernetes.io/control-plane".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        }
    }
}

impl fmt::Display for Taint {
    /// The form of the kubelet's flag and of kubectl: `key=value:effect`, without `=` when the value is empty.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(formatter, "={}", self.value)?;
        }
        if !self.effect.is_empty() {
            write!(formatter, ":{}", self.effect)?;
        }
        Ok(())
    }
}

/// When images are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub enum PullPolicy {
    /// Every time.
    Always,
    /// Only when they are not there.
    #[default]
    IfNotPresent,
    /// Never.
    Never,
}

impl PullPolicy {
    /// The name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A bootstrap token that is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BootstrapTokenSettings {
    /// The token, as `id.secret`; absent when it is to be generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// What it is for, in words.
    pub description: String,
    /// How long it is valid from its making; zero for ever. Without effect where `expires` is given.
    pub ttl: GoDuration,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
    /// What it may be used for: `signing`, `authentication`.
    pub usages: Vec<String>,
    /// The groups of those who use it, each beginning with `system:bootstrappers:`.
    pub groups: Vec<String>,
}

impl Default for BootstrapTokenSettings {
    fn default() -> Self {
        Self {
            token: None,
            description: String::new(),
            ttl: GoDuration::from_hours(24),
            expires: None,
            usages: vec!["signing".to_owned(), "authentication".to_owned()],
            groups: vec!["system:bootstrappers:kubeadm:default-node-token".to_owned()],
        }
    }
}
