//! The proxy through which machines reach the outside: variables of static pods, of kube-proxy and of the container runtime.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use slipway_cluster_input::{ClusterInput, Hook, HookTiming};
use slipway_resource::{Address, Desired, Digest, Path, Value};

use super::{Machine, Placement};
use crate::configuration::LocalEndpoint;

/// The field of the spec.
pub(super) const FIELD: &str = "egressProxy";

/// The name of the unit that lets the container runtime read its variables.
pub(super) const UNIT: &str = "slipway-egress-proxy.service";

/// What is reached without a proxy on every machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The variable of the container runtime that tells one set of variables from another.
const MARK: &str = "SLIPWAY_EGRESS_PROXY";

/// The variables for programs that use the proxy; none without a proxy.
pub(super) fn variables(
    cluster: &ClusterInput,
    placement: &Placement,
    endpoint: &LocalEndpoint,
) -> BTreeMap<String, String> {
    let Some(proxy) = &cluster.egress_proxy else { return BTreeMap::new() };
    let network = &cluster.network;
    let ranges: Vec<IpNet> = proxy.exclusions.iter().filter_map(|range| range.parse().ok()).collect();
    // A range of the user covers machines that come later, too. Without one, each new machine changes the variables.
    let is_covered = |address: &IpAddr| ranges.iter().any(|range| range.contains(address));
    let machines = placement.machines.iter().map(|machine| machine.address);
    let mut direct: Vec<String> = proxy.exclusions.clone();
    direct.extend(LOCAL.map(str::to_owned));
    direct.extend([".svc".to_owned(), format!(".{}", network.cluster_domain)]);
    direct.extend(network.pod_cidrs.iter().chain(&network.service_cidrs).map(ToString::to_string));
    direct.push(endpoint.host.clone());
    direct.extend(machines.filter(|address| !is_covered(address)).map(|address| address.to_string()));
    let mut once: Vec<String> = Vec::new();
    for name in direct {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    let pairs =
        [("HTTP_PROXY", proxy.url.clone()), ("HTTPS_PROXY", proxy.url.clone()), ("NO_PROXY", once.join(","))];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The service of the container runtime of a machine.
fn runtime(machine: &Machine) -> &'static str {
    if machine.cri_sockets.iter().any(|socket| socket.contains("crio")) { "crio" } else { "containerd" }
}

/// The lines of a unit that set variables.
pub(super) fn lines(variables: &BTreeMap<String, String>) -> String {
    let line = |(name, value): (&String, &String)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        format!("Environment=\"{name}={value}\"\n")
    };
    variables.iter().map(line).collect()
}

/// What tells these variables from others.
fn mark(variables: &BTreeMap<String, String>) -> String {
    let digest = Digest::of_bytes(lines(variables).as_bytes());
    format!("{MARK}={}", digest.short())
}

/// The addition to the unit of the container runtime.
pub(super) fn of_machine(variables: &BTreeMap<String, String>, machine: &Machine) -> Option<Desired> {
    if variables.is_empty() {
        return None;
    }
    let content = format!("[Service]\n{}Environment={}\n", lines(variables), mark(variables));
    let path = format!("/etc/systemd/system/{}.service.d/21-slipway-egress-proxy.conf", runtime(machine));
    let attributes = Value::map([
        ("host", Value::from(machine.name.as_str())),
        ("path", path.into()),
        ("content", content.into()),
        ("mode", "0644".into()),
    ]);
    let mut desired =
        Desired::new(Address::new("file", format!("{}/egress-proxy", machine.name)), attributes);
    desired.origins.insert(Path::root(), FIELD.to_owned());
    Some(desired)
}

/// The unit that restarts the container runtime if it runs with other variables. Pods keep running meanwhile. When the machine starts,
/// the runtime has its variables already.
pub(super) fn hook(variables: &BTreeMap<String, String>, machine: &Machine) -> Option<Hook> {
    if variables.is_empty() {
        return None;
    }
    let (runtime, mark) = (runtime(machine), mark(variables));
    let content = format!(
        "[Unit]\n\
         Description=Slipway: the proxy of the container runtime\n\
         After={runtime}.service\n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart=/bin/sh -c 'systemctl show -p MainPID --value {runtime} | \
         xargs -I PID grep -q -a -s {mark} /proc/PID/environ || \
         {{ systemctl daemon-reload && systemctl try-restart {runtime}; }}'\n"
    );
    Some(Hook { name: UNIT.to_owned(), content, timing: HookTiming::BeforeKubelet, enabled: true })
}
