//! The machine, its kernel and its services.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_bootstrap::preflight::{Cgroups, ServiceState};
use tokio::process::Command;

use super::PATIENCE;

/// How long a program may take to say its version: a large one on a cold disk is slow to start.
const START: Duration = Duration::from_secs(30);

pub(super) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The machine's memory in MiB; 0 when the kernel does not tell.
pub(super) fn memory_mib() -> u64 {
    let text = read("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}

pub(super) fn operating_system() -> String {
    rustix::system::uname().sysname().to_string_lossy().into_owned()
}

pub(super) fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

pub(super) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The options of a kernel's build where its package leaves them; the compressed ones of the kernel itself are not read.
pub(super) fn kernel_options() -> Option<BTreeSet<String>> {
    let release = kernel();
    let places = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/usr/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/build/.config"),
    ];
    let text = places.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let set = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
        matches!(value, "y" | "m").then(|| name.to_owned())
    });
    Some(set.collect())
}

/// Whether systemd runs; unknown for a machine that is prepared below another root.
pub(super) fn systemd(root: &Path) -> Option<bool> {
    (root == Path::new("/")).then(|| Path::new("/run/systemd/system").is_dir())
}

pub(super) fn cgroups() -> Cgroups {
    if let Ok(text) = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers") {
        let controllers = text.split_whitespace().map(str::to_owned).collect();
        return Cgroups { version: 2, controllers };
    }
    // Name, hierarchy, number of groups, enabled.
    let text = read("/proc/cgroups");
    let enabled = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(3) == Some(&"1")).then(|| fields.first().map(|name| (*name).to_owned())).flatten()
    });
    let controllers: BTreeSet<String> = enabled.collect();
    Cgroups { version: u8::from(!controllers.is_empty()), controllers }
}

pub(super) fn swap() -> Vec<String> {
    read("/proc/swaps")
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

/// A setting of the kernel by its path below `/proc/sys`.
pub(super) fn kernel_setting(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?;
    Some(text.trim().to_owned())
}

/// Where a program is on the path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The init system of this host: `systemd`, `openrc` or `none`.
pub fn init_system(root: &Path) -> &'static str {
    if root.join("run/systemd/system").is_dir() {
        "systemd"
    } else if root.join("sbin/openrc-run").exists() && root.join("run/openrc").is_dir() {
        "openrc"
    } else {
        "none"
    }
}

/// The state of services, where there is an init system to ask.
pub(super) async fn services(names: &[&str]) -> BTreeMap<String, ServiceState> {
    let mut found = BTreeMap::new();
    if init_system(Path::new("/")) != "systemd" {
        return found;
    }
    for name in names {
        let says = |verb: &'static str| async move {
            let run = Command::new("systemctl").args([verb, name]).kill_on_drop(true).output();
            let output = tokio::time::timeout(PATIENCE, run).await.ok()?.ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let enabled = says("is-enabled").await.unwrap_or_default();
        let active = says("is-active").await.unwrap_or_default();
        let state = ServiceState {
            exists: !enabled.is_empty() && enabled != "not-found",
            enabled: matches!(enabled.as_str(), "enabled" | "static" | "linked" | "enabled-runtime"),
            active: active == "active",
        };
        found.insert((*name).to_owned(), state);
    }
    found
}

/// The kubelet's version as it says it.
pub(super) async fn kubelet_version() -> Result<String, String> {
    let path = program("kubelet").ok_or("there is no kubelet on the path")?;
    let run = Command::new(path).arg("--version").kill_on_drop(true).output();
    let output = tokio::time::timeout(START, run).await.map_err(|_| "the kubelet does not answer")?;
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `Kubernetes v1.34.4`
    match text.split_whitespace().last() {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => Err(format!("`kubelet --version` ended with {}", output.status)),
    }
}

/// Free space for a path that need not exist yet.
pub(super) fn free_mib(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|path| path.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize) >> 20)
}

/// Whether a time service keeps the kernel's clock; none when the kernel does not tell.
pub(super) fn clock_synchronised() -> Option<bool> {
    // Time services leave one of these marks; without any nothing is known, as inside a container.
    let marks = [
        "/run/systemd/timesync/synchronized",
        "/run/chrony/chronyd.pid",
        "/run/chronyd.pid",
        "/run/ntpd.pid",
    ];
    if marks.iter().any(|mark| Path::new(mark).exists()) {
        return Some(true);
    }
    Path::new("/run/systemd/system").is_dir().then_some(false)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
