//! Facts about a host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::etcd_data::EtcdData;

/// All facts that checks use, read from one host at one time.
///
/// Maps have an entry for each question. A check whose entry is missing reports that it has no data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// The effective user id.
    pub user_id: u32,
    /// How many processors this process may use.
    pub processors: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The operating system, as `Linux`.
    pub operating_system: String,
    /// The kernel's release, as `6.1.0-18-amd64`.
    pub kernel: String,
    /// The enabled build options of the kernel, as `NAMESPACES`; `None` when the kernel does not expose them.
    pub kernel_options: Option<BTreeSet<String>>,
    /// The control groups of the kernel.
    pub cgroups: Cgroups,
    /// Whether systemd is the running init system; `None` when this was not checked.
    pub systemd: Option<bool>,
    /// The swap devices and files in use.
    pub swap: Vec<String>,
    /// The machine's id; `None` when there is no such file, empty when the file has no id.
    pub machine_id: Option<String>,
    /// The host's name.
    pub hostname: String,
    /// The host's addresses.
    pub addresses: Vec<InterfaceAddress>,
    /// Checked programs, with their paths.
    pub programs: BTreeMap<String, Option<String>>,
    /// Checked paths.
    pub paths: BTreeMap<String, PathState>,
    /// The data of etcd in directories, by their paths.
    pub etcd_data: BTreeMap<String, EtcdData>,
    /// Paths that an earlier run on this node has made: they are expected to exist.
    pub owned: BTreeSet<String>,
    /// Checked TCP ports.
    pub ports: BTreeMap<u16, PortState>,
    /// Checked kernel settings, by path below `/proc/sys`; `None` for one that does not exist.
    pub kernel_settings: BTreeMap<String, Option<String>>,
    /// Checked services.
    pub services: BTreeMap<String, ServiceState>,
    /// The container runtime, or why it cannot be used.
    pub runtime: Option<Result<Runtime, String>>,
    /// The kubelet's version, as `v1.34.4`, or why it is not known.
    pub kubelet: Option<Result<String, String>>,
    /// Resolved names, or why they could not be resolved.
    pub names: BTreeMap<String, Result<Vec<IpAddr>, String>>,
    /// Free space in MiB of the file system of each path.
    pub free_mib: BTreeMap<String, u64>,
    /// Whether the kernel's clock is synchronised; `None` when the kernel does not say.
    pub clock_synchronised: Option<bool>,
    /// Maximum number of seconds by which this clock is ahead of that of the cluster's API; `None` without a
    /// cluster.
    pub clock_ahead_seconds: Option<i64>,
    /// Proxy settings in the environment, as `https_proxy`.
    pub proxies: BTreeMap<String, String>,
    /// Versions of the members of an external etcd by endpoint, or why one did not answer.
    pub etcd: BTreeMap<String, Result<String, String>>,
}

/// Control groups of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgroups {
    /// 1 or 2; 0 when there are none.
    pub version: u8,
    /// The available controllers, as `memory`.
    pub controllers: BTreeSet<String>,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceAddress {
    /// The interface, as `eth0`.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The largest packet in bytes; 0 when it is not known.
    pub mtu: u32,
}

/// A network that a host or a cluster uses, in CIDR notation.
pub type NetworkRange = ipnet::IpNet;

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathState {
    /// There is none.
    Absent,
    /// A file.
    File,
    /// An empty directory.
    EmptyDirectory,
    /// A directory that is not empty.
    Directory,
}

/// Whether a process listens on a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// No process listens.
    Free,
    /// A process listens; with the name of its program if that is known.
    Taken(Option<String>),
}

/// A service of the init system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceState {
    /// Whether the service exists.
    pub exists: bool,
    /// Whether it is started at boot.
    pub enabled: bool,
    /// Whether it runs.
    pub active: bool,
}

/// A container runtime that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Its name and version, as `containerd 1.6.20`.
    pub version: String,
    /// Conditions that are not ready, except for a network that is installed later.
    pub not_ready: Vec<String>,
    /// Its cgroup driver, `systemd` or `cgroupfs`; `None` when it does not report one.
    pub cgroup_driver: Option<String>,
    /// The requested images that it has.
    pub images: BTreeSet<String>,
    /// Images that it could not pull, with the reason.
    pub missing_images: BTreeMap<String, String>,
}
