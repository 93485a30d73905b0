//! The facts of a host for a plan: read by SSH before there is an agent on it, or by its agent.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::expand::{Facts, InitSystem};
use slipway_bootstrap::from_cluster::Founder;
use slipway_bootstrap::pki::Certificate;
use slipway_cluster_input::{Architecture, Host};

use crate::config::Config;

/// The facts that were read on a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub facts: Facts,
    pub cri_sockets: Vec<String>,
    /// The node that it is already, if it is one.
    pub node: Option<SeenNode>,
}

/// A node that was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeenNode {
    /// The container runtime that its kubelet uses.
    pub cri_socket: Option<String>,
    /// The members that its etcd was started with.
    pub etcd_members: Vec<Founder>,
    /// Whether that etcd joined members that were there before.
    pub joined: bool,
    /// The address of the API that its kubelet is sent to, or that clients outside use if the node has a balancer.
    pub server: Option<IpAddr>,
    /// Whether it has a node-local balancer.
    pub has_balancer: bool,
    /// The algorithm of its API server's key.
    pub key_algorithm: Option<EncryptionAlgorithm>,
}

/// Reads the output of a host, in the form of [`slipway_provider_node::told`].
pub(crate) fn read(printed: &str, host: &Host, config: &Config) -> Seen {
    let mut seen = of_unseen(host, config);
    let mut proxies = BTreeMap::new();
    let mut ca_folders = BTreeSet::new();
    seen.facts.kubelet_unit_missing = true;
    seen.facts.kubelet_drop_in_missing = true;
    seen.facts.containerd_unit_missing = true;
    for (name, value) in printed.lines().filter_map(|line| line.split_once('=')) {
        match name {
            "hostname" => seen.facts.hostname = value.to_lowercase(),
            "init" if config.init_system == "auto" => seen.facts.init_system = init_system(value),
            "unit" if value == "containerd" => seen.facts.containerd_unit_missing = false,
            "unit" => seen.facts.kubelet_unit_missing = false,
            "drop-in" => seen.facts.kubelet_drop_in_missing = false,
            "resolved" => seen.facts.systemd_resolved = true,
            "ca" => drop(ca_folders.insert(value.to_owned())),
            "cri" => seen.cri_sockets.push(value.to_owned()),
            "proxy" => {
                if let Some((name, value)) = value.split_once('=') {
                    proxies.insert(name.to_owned(), value.to_owned());
                }
            }
            "machine" => seen.facts.architecture = architecture(value),
            "programs" => seen.facts.program_folder = Some(value.to_owned()),
            "kubelet" => seen.facts.kubelet = Some(value.to_owned()),
            "node" => drop(seen.node.get_or_insert_default()),
            "cri-used" => seen.node.get_or_insert_default().cri_socket = Some(value.to_owned()),
            "etcd" => seen.node.get_or_insert_default().etcd_members = members(value),
            "server" => seen.node.get_or_insert_default().server = host_of(value),
            "balancer" => seen.node.get_or_insert_default().has_balancer = true,
            "etcd-state" => seen.node.get_or_insert_default().joined = value == "existing",
            "serves" => seen.node.get_or_insert_default().key_algorithm = algorithm(value),
            "path" if seen.facts.init_system == InitSystem::None => {
                seen.facts.kubelet_environment.entry("PATH".to_owned()).or_insert_with(|| value.to_owned());
            }
            _ => {}
        }
    }
    seen.facts.ca_folders = ca_folders;
    seen.facts.proxy_environment = proxies;
    seen
}

/// The assumed facts of a host on which nothing was read.
pub(crate) fn of_unseen(host: &Host, config: &Config) -> Seen {
    let mut facts = Facts { hostname: host.name.clone(), ..Facts::default() };
    if config.init_system != "auto" {
        facts.init_system = init_system(&config.init_system);
    }
    if let (InitSystem::None, Some(path)) = (facts.init_system, &config.path) {
        facts.kubelet_environment.insert("PATH".to_owned(), path.clone());
    }
    Seen { facts, ..Seen::default() }
}

/// The address in a URL; none where it has a name.
fn host_of(url: &str) -> Option<IpAddr> {
    let (host, _) = url.strip_prefix("https://")?.rsplit_once(':')?;
    host.trim_matches(['[', ']']).parse().ok()
}

/// Members of etcd as its flag has them: `name=url,…`.
fn members(text: &str) -> Vec<Founder> {
    let member = |text: &str| {
        let (name, url) = text.split_once('=')?;
        let (host, _) = url.strip_prefix("https://")?.rsplit_once(':')?;
        let address = host.trim_matches(['[', ']']).parse().ok()?;
        Some(Founder { name: name.to_owned(), address })
    };
    text.split(',').filter_map(member).collect()
}

/// The algorithm of a certificate's key; nothing for one that no key of ours could have.
fn algorithm(encoded: &str) -> Option<EncryptionAlgorithm> {
    let pem = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    Certificate::from_pem(&pem).ok()?.public_key().algorithm().parse().ok()
}

/// Processors by what `uname -m` calls them; none for those without a release of Slipway.
fn architecture(machine: &str) -> Option<Architecture> {
    match machine {
        "x86_64" => Some(Architecture::Amd64),
        "aarch64" => Some(Architecture::Arm64),
        _ => None,
    }
}

fn init_system(text: &str) -> InitSystem {
    match text {
        "openrc" => InitSystem::Openrc,
        "none" => InitSystem::None,
        _ => InitSystem::Systemd,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use slipway_bootstrap::pki::{PrivateKey, Template};

    use super::*;

    #[test]
    fn a_node_tells_with_whom_its_etcd_began() {
        let printed = "hostname=CP-1\ninit=systemd\nnode=yes\ncri=unix:///var/run/containerd/containerd.sock\n\
                       cri-used=unix:///run/containerd/containerd.sock\nserver=https://10.0.0.1:6443\netcd=cp-0=https://10.0.0.1:2380,cp-1=https://[fd00::2]:2380\netcd-state=existing\n";
        let host = serde_json::json!({ "name": "cp-1", "labels": {}, "inventory": "rack", "addresses": [] });
        let host: Host = serde_json::from_value(host).unwrap();
        let seen = read(printed, &host, &Config::default());
        assert_eq!(seen.facts.hostname, "cp-1");
        let node = seen.node.unwrap();
        assert!(node.joined);
        assert_eq!(node.cri_socket.as_deref(), Some("unix:///run/containerd/containerd.sock"));
        let members: Vec<String> =
            node.etcd_members.iter().map(|member| format!("{}={}", member.name, member.address)).collect();
        assert_eq!(members, ["cp-0=10.0.0.1", "cp-1=fd00::2"]);
        assert_eq!(node.server, Some("10.0.0.1".parse().unwrap()));
        assert_eq!(node.key_algorithm, None);
        assert!(!node.has_balancer);
        let balanced =
            "node=yes\nserver=https://127.0.0.1:6444\nbalancer=yes\nserver=https://10.0.0.2:6443\n";
        let node = read(balanced, &host, &Config::default()).node.unwrap();
        assert!(node.has_balancer);
        assert_eq!(node.server, Some("10.0.0.2".parse().unwrap()), "the endpoint, not the balancer");
        assert!(read("hostname=fresh\n", &host, &Config::default()).node.is_none());
    }

    #[test]
    fn a_control_plane_tells_which_keys_its_cluster_has() {
        for wanted in [EncryptionAlgorithm::EcdsaP256, EncryptionAlgorithm::Rsa2048] {
            let key = PrivateKey::generate(wanted).unwrap();
            let template =
                Template::authority("apiserver", Timestamp::now(), Duration::from_secs(60)).unwrap();
            let certificate = template.self_signed(&key).unwrap().to_pem();
            assert_eq!(algorithm(&STANDARD.encode(certificate)), Some(wanted));
        }
        assert_eq!(algorithm("bm8gY2VydGlmaWNhdGU="), None);
    }
}
