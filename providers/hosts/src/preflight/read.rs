//! Reads the output of the script as facts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::preflight::{
    Cgroups, EtcdData, EtcdIds, Facts, InterfaceAddress, PathState, PortState, Questions, Runtime,
    ServiceState,
};

use super::images;

/// The result of the script.
pub(crate) struct Read {
    /// The facts for the checks.
    pub facts: Facts,
    /// The cluster whose node the host is, as its owner file says: the unique id and the name.
    pub owner: Option<(String, String)>,
}

/// Reads what a script printed, on a host whose files are below a root, at a time in seconds since 1970.
pub(crate) fn read(printed: &str, questions: &Questions, root: &str, now: i64) -> Read {
    let root = root.trim_end_matches('/');
    let inside = |path: &str| path.strip_prefix(root).unwrap_or(path).to_owned();
    let mut facts =
        Facts { kubelet: Some(Err("there is no kubelet on the path".to_owned())), ..Facts::default() };
    facts.programs = questions.programs.iter().map(|name| (name.clone(), None)).collect();
    facts.kernel_settings = questions.kernel_settings.iter().map(|set| (set.path.clone(), None)).collect();
    let (mut listens, mut options) = (BTreeSet::new(), None::<BTreeSet<String>>);
    let mut owner = None;
    // The facts about a runtime, without its version.
    let mut reported = Runtime::default();
    for (name, value) in printed.lines().filter_map(|line| line.split_once('=')) {
        let (first, rest) = value.split_once(' ').unwrap_or((value, ""));
        match name {
            "user" => facts.user_id = value.parse().unwrap_or(u32::MAX),
            "processors" => facts.processors = value.parse().unwrap_or_default(),
            "memory" => facts.memory_mib = value.parse::<u64>().unwrap_or_default() / 1024,
            "system" => value.clone_into(&mut facts.operating_system),
            "kernel" => value.clone_into(&mut facts.kernel),
            "hostname" => value.clone_into(&mut facts.hostname),
            "time" => facts.clock_ahead_seconds = value.parse::<i64>().ok().map(|time| time - now),
            "machine-id" => facts.machine_id = Some(value.to_owned()),
            "options" => drop(options.get_or_insert_default()),
            "option" => drop(options.get_or_insert_default().insert(value.to_owned())),
            "cgroups" => facts.cgroups = cgroups(first, rest),
            "swap" => facts.swap.push(value.to_owned()),
            "listens" => drop(u16::from_str_radix(value, 16).map(|port| listens.insert(port))),
            "address" => facts.addresses.extend(address(value)),
            "service" => drop(facts.services.insert(first.to_owned(), service(rest))),
            "kubelet" => {
                // `Kubernetes v1.34.4`
                if let Some(version) = value.split_whitespace().last() {
                    facts.kubelet = Some(Ok(version.to_owned()));
                }
            }
            "path" => drop(facts.paths.insert(inside(rest), state(first))),
            "etcd" => {
                if let Some((path, data)) = etcd(value) {
                    facts.etcd_data.insert(inside(path), data);
                }
            }
            "free" => drop(first.parse::<u64>().map(|kib| facts.free_mib.insert(inside(rest), kib / 1024))),
            "program" => drop(facts.programs.insert(value.to_owned(), Some(value.to_owned()))),
            "setting" => {
                if let Some((found, path)) = value.rsplit_once(' ') {
                    facts.kernel_settings.insert(path.to_owned(), Some(found.trim().to_owned()));
                }
            }
            "name" => drop(facts.names.insert(value.to_owned(), Ok(vec![IpAddr::from([0, 0, 0, 0])]))),
            "no-name" => {
                drop(
                    facts.names.insert(value.to_owned(), Err("the host finds no address for it".to_owned())),
                );
            }
            "runtime" if first == "ok" => {
                let version = rest.trim().to_owned();
                facts.runtime = Some(Ok(Runtime { version, ..Runtime::default() }));
            }
            "runtime" => facts.runtime = Some(Err(rest.to_owned())),
            "systemd" => facts.systemd = Some(value == "yes"),
            "driver" => reported.cgroup_driver = Some(value.to_owned()),
            "image" => images::read(value, &mut reported),
            "owned" => drop(facts.owned.insert(value.to_owned())),
            "owner" => owner = of_owner(value),
            _ => {}
        }
    }
    facts.kernel_options = options;
    // A runtime may report its images without a version.
    if reported != Runtime::default()
        && let Ok(runtime) = facts.runtime.get_or_insert_with(|| Ok(Runtime::default()))
    {
        *runtime = Runtime { version: std::mem::take(&mut runtime.version), ..reported };
    }
    let port = |number: u16| {
        let state = if listens.contains(&number) { PortState::Taken(None) } else { PortState::Free };
        (number, state)
    };
    facts.ports = questions.ports.iter().map(|question| port(question.number)).collect();
    owned(&mut facts, questions);
    Read { facts, owner }
}

/// Paths that belong to our objects: data of a member, and the kubelet's own files.
fn owned(facts: &mut Facts, questions: &Questions) {
    if facts.owned.contains("/etc/kubernetes/manifests/etcd.yaml") {
        facts.owned.extend(questions.empty_directories.iter().cloned());
    }
    if facts.owned.contains("/var/lib/kubelet/config.yaml") {
        facts.owned.extend(["/etc/kubernetes/manifests", "/etc/kubernetes/kubelet.conf"].map(str::to_owned));
    }
}

fn of_owner(text: &str) -> Option<(String, String)> {
    let owner: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    Some((owner.get("uid")?.clone(), owner.get("cluster")?.clone()))
}

fn cgroups(version: &str, controllers: &str) -> Cgroups {
    let controllers: BTreeSet<String> = controllers.split_whitespace().map(str::to_owned).collect();
    let version = version.parse().unwrap_or_default();
    Cgroups { version: if controllers.is_empty() { 0 } else { version }, controllers }
}

/// `eth0 10.0.0.1/24 1500`
fn address(text: &str) -> Option<InterfaceAddress> {
    let mut words = text.split_whitespace();
    let (interface, range) = (words.next()?, words.next()?);
    let (address, prefix) = range.split_once('/').unwrap_or((range, "0"));
    Some(InterfaceAddress {
        interface: interface.split('@').next()?.to_owned(),
        address: address.parse().ok()?,
        prefix: prefix.parse().unwrap_or_default(),
        mtu: words.next().and_then(|mtu| mtu.parse().ok()).unwrap_or_default(),
    })
}

fn service(text: &str) -> ServiceState {
    let (enabled, active) = text.split_once(' ').unwrap_or((text, ""));
    ServiceState {
        exists: !enabled.is_empty() && enabled != "not-found",
        enabled: matches!(enabled, "enabled" | "static" | "linked" | "enabled-runtime"),
        active: active == "active",
    }
}

fn state(text: &str) -> PathState {
    match text {
        "full" => PathState::Directory,
        "empty" => PathState::EmptyDirectory,
        "file" => PathState::File,
        _ => PathState::Absent,
    }
}

/// `/var/lib/etcd 65536 1767225600 <the beginning of its log, in base64>`
fn etcd(text: &str) -> Option<(&str, EtcdData)> {
    let mut words = text.split(' ');
    let (path, size, written) = (words.next()?, words.next()?, words.next()?);
    let head = words.next().and_then(|log| STANDARD.decode(log).ok());
    Some((
        path,
        EtcdData {
            ids: head.and_then(|head| EtcdIds::of_log(&head)),
            size_kib: size.parse().unwrap_or_default(),
            written: written.parse().ok().filter(|seconds| *seconds > 0),
        },
    ))
}
