//! Addresses, names, proxies and the kernel's settings of the network.

use std::net::IpAddr;

use super::facts::Facts;
use super::paths::dashed;
use super::questions::{Purpose, Questions};
use super::{Checks, when};

/// Below this, an overlay network on top has packets too small for IPv6.
const SMALLEST_MTU: u32 = 1330;

pub(super) fn check(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    if questions.purpose == Purpose::Reset {
        return;
    }
    for setting in &questions.kernel_settings {
        let found = facts.kernel_settings.get(&setting.path).cloned().flatten();
        let path = format!("/proc/sys/{}", setting.path);
        let message = match &found {
            Some(found) => format!("{path} is {found} and must be {}", setting.value),
            None => format!("{path} does not exist"),
        };
        let key = setting.path.replace('/', ".");
        let hint =
            format!("`sysctl -w {key}={}`, and the same in /etc/sysctl.d for the next boot", setting.value);
        let wrong = found.as_deref() != Some(setting.value.as_str());
        checks.error(format!("FileContent{}", dashed(&path)), when(wrong, message, hint));
    }
    bridges(facts, checks);
    endpoint(questions, facts, checks);
    advertised(questions, facts, checks);
    ranges(questions, facts, checks);
    proxies(questions, facts, checks);
    external_etcd(questions, facts, checks);
}

fn bridges(facts: &Facts, checks: &mut Checks) {
    if let Some(value) = facts.kernel_settings.get("net/bridge/bridge-nf-call-iptables") {
        let message = match value {
            None => {
                "br_netfilter is not loaded: on a bridge, Services may not be reached by pods of the same node"
            }
            Some(_) => {
                "bridges keep packets from iptables: Services may not be reached by pods of the same node"
            }
        };
        let hint = "`modprobe br_netfilter` and `sysctl -w net.bridge.bridge-nf-call-iptables=1`, unless the network plugin needs no bridge";
        checks.warning("BridgeNetfilter", when(value.as_deref() != Some("1"), message, hint));
    }
}

fn endpoint(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let Some(name) = &questions.endpoint_name else { return };
    let found = match facts.names.get(name) {
        Some(Err(reason)) => Some(reason.clone()),
        Some(Ok(addresses)) if addresses.is_empty() => Some("it has no address".to_owned()),
        _ => None,
    };
    let found = found.map(|reason| {
        let message = format!("the control plane's endpoint {name} cannot be resolved here: {reason}");
        (message, format!("add {name} to the DNS or to /etc/hosts of every node"))
    });
    checks.error("EndpointName", found);
}

fn advertised(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let Some(wanted) = questions.advertise_address else { return };
    let interface = facts.addresses.iter().find(|found| found.address == wanted);
    let listed: Vec<String> = facts
        .addresses
        .iter()
        .filter(|found| !found.address.is_loopback())
        .map(|found| format!("{} ({})", found.address, found.interface))
        .collect();
    let message = format!("no interface of this host has the address {wanted}");
    let hint = format!("this host has {}; name one with --apiserver-advertise-address", listed.join(", "));
    let absent = interface.is_none() && !facts.addresses.is_empty();
    if questions.advertise_address_given {
        checks.error("AdvertiseAddress", when(absent, message, hint));
    } else {
        checks.warning("AdvertiseAddress", when(absent, message, hint));
    }
    if let Some(interface) = interface {
        let small = interface.mtu != 0 && interface.mtu < SMALLEST_MTU;
        let message = format!("packets of {} have at most {} bytes", interface.interface, interface.mtu);
        let hint = format!(
            "raise the MTU of {} to 1500, or choose a network plugin without an overlay",
            interface.interface
        );
        checks.warning("Mtu", when(small, message, hint));
    }
}

fn ranges(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let overlap = |left: &ipnet::IpNet, right: &ipnet::IpNet| {
        left.contains(&right.network()) || right.contains(&left.network())
    };
    for (position, question) in questions.ranges.iter().enumerate() {
        let host = facts
            .addresses
            .iter()
            .find(|found| question.range.contains(&found.address) && !is_cluster_interface(&found.interface));
        let other =
            questions.ranges.iter().take(position).find(|other| overlap(&other.range, &question.range));
        let message = match (host, other) {
            (Some(host), _) => format!(
                "{} {} holds the host's own address {} of {}",
                question.purpose, question.range, host.address, host.interface
            ),
            (None, Some(other)) => format!(
                "{} {} and {} {} overlap",
                question.purpose, question.range, other.purpose, other.range
            ),
            (None, None) => String::new(),
        };
        let hint = format!(
            "choose another {}: what lies in both can be reached in one of the two networks only",
            question.purpose
        );
        checks.error("NetworkRanges", when(!message.is_empty(), message, hint));
    }
}

/// Whether a cluster's own network made an interface, so that its address may be in the cluster's ranges.
fn is_cluster_interface(name: &str) -> bool {
    ["cni", "flannel", "cali", "cilium", "kube-", "vxlan", "veth", "weave", "nodelocaldns"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn proxies(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let setting = |name: &str| {
        facts.proxies.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    };
    let Some(proxy) =
        setting("https_proxy").or_else(|| setting("http_proxy")).filter(|proxy| !proxy.is_empty())
    else {
        return;
    };
    let exceptions: Vec<&str> = setting("no_proxy")
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
    for direct in &questions.direct {
        let is_range = direct.contains('/') && !direct.contains("://");
        let check = if is_range { "HTTPProxyCIDR" } else { "HTTPProxy" };
        let excepted = if is_range {
            exceptions.contains(&direct.as_str())
        } else {
            is_excepted(host_of(direct), &exceptions)
        };
        let message = format!("what goes to {direct} is sent through the proxy {proxy}");
        let hint = format!("add {} to no_proxy", if is_range { direct } else { host_of(direct) });
        checks.warning(check, when(!excepted, message, hint));
    }
}

fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or(rest);
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => rest.rsplit_once(':').map_or(rest, |(host, _)| host),
    }
}

fn is_excepted(host: &str, exceptions: &[&str]) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    exceptions.iter().any(|exception| {
        let suffix = exception.trim_start_matches('.');
        *exception == "*"
            || host == *exception
            || (address.is_none() && (host == suffix || host.ends_with(&format!(".{suffix}"))))
            || address.is_some_and(|address| {
                exception.parse::<ipnet::IpNet>().is_ok_and(|range| range.contains(&address))
            })
    })
}

/// The oldest etcd in which a learner that was promoted stays promoted.
const OLDEST_ETCD: semver::Version = semver::Version::new(3, 5, 24);

fn external_etcd(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    for endpoint in &questions.external_etcd {
        let found = match facts.etcd.get(endpoint) {
            None => continue,
            Some(Err(reason)) => {
                let message = format!("the etcd at {endpoint} does not answer: {reason}");
                Some((message, "check the endpoint and the client certificate for it".to_owned()))
            }
            Some(Ok(version)) => {
                let old = semver::Version::parse(version.trim_start_matches('v'))
                    .is_ok_and(|version| version < OLDEST_ETCD);
                when(
                    old,
                    format!("the etcd at {endpoint} is {version}, older than {OLDEST_ETCD}"),
                    "upgrade it first",
                )
            }
        };
        checks.error("ExternalEtcdVersion", found);
    }
}
