//! The machine and its kernel.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::questions::{Purpose, Questions};
use super::{Checks, Severity, when};

/// The needs of the smallest control plane, as in kubeadm.
const PROCESSORS: u32 = 2;
const MEMORY_MIB: u64 = 1700;

/// The kernel options that the kubelet and containers require.
const KERNEL_OPTIONS: &[&str] = &[
    "NAMESPACES",
    "NET_NS",
    "PID_NS",
    "IPC_NS",
    "UTS_NS",
    "CGROUPS",
    "CPUSETS",
    "MEMCG",
    "INET",
    "EXT4_FS",
    "PROC_FS",
    "NETFILTER_XT_TARGET_REDIRECT",
    "NETFILTER_XT_MATCH_COMMENT",
    "FAIR_GROUP_SCHED",
];

const CONTROLLERS_1: &[&str] = &["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory"];
/// Devices and the freezer have no controllers of their own there.
const CONTROLLERS_2: &[&str] = &["cpu", "cpuset", "memory", "pids"];

pub(super) fn check(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let message = "this needs root: files, services and mounts of the whole host change";
    checks.error(
        "IsPrivilegedUser",
        when(facts.user_id != 0, message, "run it as root, for example with sudo"),
    );
    if questions.purpose == Purpose::Reset {
        return;
    }
    if questions.purpose.is_control_plane() {
        let message = format!(
            "the host has {} processors, fewer than the {PROCESSORS} that a control plane needs",
            facts.processors
        );
        let hint = "use a larger machine; `--ignore-preflight-errors NumCPU` tries all the same";
        checks.error("NumCPU", when(facts.processors < PROCESSORS, message, hint));
        let message = format!(
            "the host has {} MiB of memory, less than the {MEMORY_MIB} MiB that a control plane needs",
            facts.memory_mib
        );
        let hint = "use a larger machine; `--ignore-preflight-errors Mem` tries all the same";
        checks.error("Mem", when(facts.memory_mib < MEMORY_MIB, message, hint));
    }
    let swaps = !facts.swap.is_empty() && !questions.swap_tolerated;
    let message =
        format!("the host swaps to {}, and a kubelet does not start then by default", facts.swap.join(", "));
    let hint = "`swapoff -a` and take it out of /etc/fstab, or set failSwapOn: false for the kubelet";
    checks.warning("Swap", when(swaps, message, hint));
    for program in &questions.programs {
        let missing = !matches!(facts.programs.get(program), Some(Some(_)));
        let message = format!("{program} is not on the path");
        checks.error(
            format!("FileExisting-{program}"),
            when(missing, message, format!("install the package that has {program}")),
        );
    }
    system(facts, checks);
    cgroup_version(questions, facts, checks);
    names(questions, facts, checks);
    clock(facts, checks);
}

fn system(facts: &Facts, checks: &mut Checks) {
    let mut wrong = Vec::new();
    if facts.operating_system != "Linux" {
        wrong.push(format!("the operating system is {} and must be Linux", facts.operating_system));
    }
    if !is_supported_kernel(&facts.kernel) {
        wrong.push(format!("the kernel {} is not 5.4, 5.10, 5.15, or 6 and newer", facts.kernel));
    }
    if let Some(options) = &facts.kernel_options {
        let missing: Vec<&str> =
            KERNEL_OPTIONS.iter().copied().filter(|option| !options.contains(*option)).collect();
        if !missing.is_empty() {
            wrong.push(format!("the kernel is built without {}", missing.join(", ")));
        }
    }
    let controllers = if facts.cgroups.version == 2 { CONTROLLERS_2 } else { CONTROLLERS_1 };
    let missing = missing(controllers, &facts.cgroups.controllers);
    if !missing.is_empty() {
        wrong.push(format!("the control groups lack {}", missing.join(", ")));
    }
    let hint = "use a supported kernel with these options and controllers";
    checks.error("SystemVerification", when(!wrong.is_empty(), wrong.join("; "), hint));
}

/// The first minor version whose kubelet exits on control groups of version 1, unless its configuration
/// allows them.
const FAILS_ON_CGROUP_V1: u64 = 35;

fn cgroup_version(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let installed = || facts.kubelet.as_ref().and_then(|kubelet| kubelet.as_ref().ok());
    let kubelet = questions.kubelet_version.as_ref().or_else(installed);
    let minor = kubelet.and_then(|version| semver::Version::parse(version.trim_start_matches('v')).ok());
    let usually = minor.is_none_or(|version| version.minor < FAILS_ON_CGROUP_V1);
    let starts = questions.cgroup_v1_tolerated.unwrap_or(usually);
    let hint = "boot with version 2; from Kubernetes 1.35 on the kubelet starts on version 1 with failCgroupV1: false only";
    let (severity, message) = match starts {
        true => (
            Severity::Warning,
            "the host has control groups of version 1, which Kubernetes keeps for older hosts only",
        ),
        false => (
            Severity::Error,
            "the host has control groups of version 1, and its kubelet ends at once on them",
        ),
    };
    checks.note("CgroupVersion", severity, when(facts.cgroups.version == 1, message, hint));
}

fn missing<'a>(wanted: &[&'a str], found: &BTreeSet<String>) -> Vec<&'a str> {
    wanted.iter().copied().filter(|name| !found.contains(*name)).collect()
}

/// The long-term kernels that Kubernetes is tested with, and all since 6.
fn is_supported_kernel(release: &str) -> bool {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or_default());
    match (numbers.next(), numbers.next()) {
        (Some(5), Some(minor)) => matches!(minor, 4 | 10 | 15),
        (Some(major), _) => major >= 6,
        _ => false,
    }
}

fn names(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let name = &questions.node_name;
    let message =
        format!("`{name}` cannot be the name of a node: a name has lower-case letters, digits, `-` and `.`");
    checks.error("NodeName", when(!is_node_name(name), message, "name it with --node-name"));
    let unresolved = match facts.names.get(name) {
        Some(Err(reason)) => Some(reason),
        _ => None,
    };
    let found = unresolved.map(|reason| {
        let message = format!("the name of the node, {name}, cannot be resolved: {reason}");
        (message, format!("add {name} to the DNS or to /etc/hosts"))
    });
    checks.warning("Hostname", found);
    let absent = facts.machine_id.as_deref().is_none_or(|id| id.is_empty() || id == "uninitialized");
    let message =
        "/etc/machine-id has no id: the node could not be told from another one made from the same image";
    checks.warning("MachineId", when(absent, message, "`systemd-machine-id-setup` makes one"));
}

/// A DNS subdomain as RFC 1123 has it.
fn is_node_name(name: &str) -> bool {
    let label = |label: &str| {
        let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends(label.chars().next())
            && ends(label.chars().last())
            && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// More than this between two hosts, and tokens and certificates are refused or live too short.
const SKEW_SECONDS: i64 = 30;

fn clock(facts: &Facts, checks: &mut Checks) {
    let message =
        "nothing keeps the clock right; certificates and tokens are good for a time, and etcd's leases too";
    let hint = "start a time service such as systemd-timesyncd or chrony";
    checks.warning("ClockSynchronised", when(facts.clock_synchronised == Some(false), message, hint));
    if let Some(ahead) = facts.clock_ahead_seconds {
        let way = if ahead > 0 { "ahead of" } else { "behind" };
        let message = format!("the clock is {} s {way} that of the cluster's API", ahead.abs());
        let hint = "set both clocks right: a certificate made there would not be valid here, or not yet";
        checks.error("ClockSkew", when(ahead.abs() > SKEW_SECONDS, message, hint));
    }
}
