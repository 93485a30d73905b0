//! The facts to read on a host, depending on the operation.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::facts::NetworkRange;

/// The operation on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A first control plane begins a cluster.
    #[default]
    Init,
    /// A worker joins.
    JoinWorker,
    /// A further control plane joins.
    JoinControlPlane,
    /// The node is reset.
    Reset,
}

impl Purpose {
    /// Whether the components of a control plane will run here.
    #[must_use]
    pub fn is_control_plane(self) -> bool {
        matches!(self, Self::Init | Self::JoinControlPlane)
    }
}

/// The questions of the checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Questions {
    /// The operation.
    pub purpose: Purpose,
    /// The node's name.
    pub node_name: String,
    /// The wanted version of Kubernetes, as `v1.34.4`.
    pub kubernetes_version: Option<String>,
    /// The version of the kubelet that the node fetches, as `v1.34.4`; `None` where it uses the installed
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_version: Option<String>,
    /// Files that must not exist.
    pub absent_files: Vec<ExpectedFile>,
    /// Directories that must be empty.
    pub empty_directories: Vec<String>,
    /// Files that must exist, with their purpose.
    pub present_files: Vec<(String, String)>,
    /// Ports that must be free.
    pub ports: Vec<ExpectedPort>,
    /// Programs that must be on the path.
    pub programs: Vec<String>,
    /// Settings of the kernel.
    pub kernel_settings: Vec<KernelSetting>,
    /// Images that must exist or be pulled.
    pub images: Vec<String>,
    /// The socket of the container runtime; `None` where it is found otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cri_socket: Option<String>,
    /// The cgroup driver of the kubelet.
    pub cgroup_driver: Option<String>,
    /// Whether the kubelet's settings allow control groups of version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_v1_tolerated: Option<bool>,
    /// Whether the kubelet starts on a host with swap.
    pub swap_tolerated: bool,
    /// The host of the control plane's endpoint, when it is a name.
    pub endpoint_name: Option<String>,
    /// The address by which others reach this node's API server.
    pub advertise_address: Option<IpAddr>,
    /// Whether the configuration sets that address.
    pub advertise_address_given: bool,
    /// The ranges of addresses that the cluster uses.
    pub ranges: Vec<RangeQuestion>,
    /// Addresses and ranges that must not use a proxy, as `https://10.0.0.1:6443`.
    pub direct: Vec<String>,
    /// Paths that need free space, in MiB.
    pub space_mib: Vec<(String, u64)>,
    /// The endpoints of an external etcd.
    pub external_etcd: Vec<String>,
}

/// A file that must not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFile {
    /// Its path.
    pub path: String,
}

/// A port that must be free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPort {
    /// The port.
    pub number: u16,
    /// The file that makes its owner run: a port that a component of an earlier run uses is not a finding.
    pub owner: String,
}

/// A setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSetting {
    /// Its path below `/proc/sys`, as `net/ipv4/ip_forward`.
    pub path: String,
    /// The value that it must have.
    pub value: String,
}

/// A range of addresses that the cluster uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeQuestion {
    /// Its purpose, as `podSubnet`.
    pub purpose: String,
    /// The range.
    pub range: NetworkRange,
}
