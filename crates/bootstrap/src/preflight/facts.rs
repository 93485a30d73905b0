//! What was seen on a host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::etcd_data::EtcdData;

/// Everything that checks look at, read from one host at one time.
///
/// Maps have an entry for what was asked for; a check whose entry is missing says that it could not look.
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
    /// The kernel's build options that are on, as `NAMESPACES`; none when the kernel does not tell.
    pub kernel_options: Option<BTreeSet<String>>,
    /// What the kernel has of control groups.
    pub cgroups: Cgroups,
    /// Whether systemd is the init system that runs; none when nobody looked.
    pub systemd: Option<bool>,
    /// The swap devices and files in use.
    pub swap: Vec<String>,
    /// The machine's id; none when there is no such file, empty when it has no id in it.
    pub machine_id: Option<String>,
    /// The host's name.
    pub hostname: String,
    /// The host's addresses.
    pub addresses: Vec<InterfaceAddress>,
    /// Programs that were looked for, and where they are.
    pub programs: BTreeMap<String, Option<String>>,
    /// Paths that were looked at.
    pub paths: BTreeMap<String, PathState>,
    /// What directories have of an etcd's data, by their paths.
    pub etcd_data: BTreeMap<String, EtcdData>,
    /// Paths that an earlier run on this node has made: they are expected to be there.
    pub owned: BTreeSet<String>,
    /// TCP ports that were looked at.
    pub ports: BTreeMap<u16, PortState>,
    /// The kernel's settings that were looked at, by path below `/proc/sys`; none for one that does not exist.
    pub kernel_settings: BTreeMap<String, Option<String>>,
    /// The services that were looked at.
    pub services: BTreeMap<String, ServiceState>,
    /// The container runtime, or why it cannot be used.
    pub runtime: Option<Result<Runtime, String>>,
    /// The kubelet's version, as `v1.34.4`, or why it cannot be found out.
    pub kubelet: Option<Result<String, String>>,
    /// Names that were resolved, or why they could not be.
    pub names: BTreeMap<String, Result<Vec<IpAddr>, String>>,
    /// Free space in MiB where each path is or will be.
    pub free_mib: BTreeMap<String, u64>,
    /// Whether the kernel's clock is synchronised; none when it does not tell.
    pub clock_synchronised: Option<bool>,
    /// How many seconds this clock is before that of the cluster's API, at most; none without a cluster.
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
    /// The controllers at hand, as `memory`.
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

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathState {
    /// Nothing.
    Absent,
    /// A file.
    File,
    /// A directory with nothing in it.
    EmptyDirectory,
    /// A directory with something in it.
    Directory,
}

/// Whether somebody listens on a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// Nobody does.
    Free,
    /// Somebody does; the name of the program where it can be found out.
    Taken(Option<String>),
}

/// A service of the init system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceState {
    /// Whether there is one of that name.
    pub exists: bool,
    /// Whether it begins with the host.
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
    /// What it says that it is not ready for, besides a network that comes later.
    pub not_ready: Vec<String>,
    /// How it groups processes, `systemd` or `cgroupfs`; none when it does not tell.
    pub cgroup_driver: Option<String>,
    /// The images of those asked for that it has.
    pub images: BTreeSet<String>,
    /// Images that it could not fetch, with the reason.
    pub missing_images: BTreeMap<String, String>,
}
