//! kube-vip: a virtual address for the API servers of several control planes, as its documentation sets it up.
//!
//! By ARP one of the control planes holds the address, by BGP all of them announce it: both are a static pod. By WireGuard
//! a VPN server outside forwards to the one that is connected: that needs a Secret, and so is a DaemonSet.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_resource::{Path, Value as Attribute};

use crate::objects::{metadata, rbac};

/// The path of the static pod's manifest.
pub const PATH: &str = "/etc/kubernetes/manifests/kube-vip.yaml";
const NAMESPACE: &str = "kube-system";

/// A virtual address and how it is made known.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeVip {
    /// The image.
    pub image: String,
    /// The address, or a DNS name for it.
    pub address: String,
    /// The port of the API.
    pub port: u16,
    /// The interface that gets the address; absent for that of the default route.
    pub interface: Option<String>,
    /// How it is made known.
    pub mode: Mode,
}

/// The image when none is given.
pub const DEFAULT_IMAGE: &str = "ghcr.io/kube-vip/kube-vip:v1.0.1";

/// How a virtual address is made known.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// The leader answers for it on its network.
    Arp,
    /// Every control plane announces it to routers.
    Bgp(Bgp),
    /// A WireGuard server forwards to the leader. The text of all tunnels as kube-vip reads them, a secret: this side's
    /// private keys are in it.
    Wireguard(Attribute),
}

/// BGP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bgp {
    /// The router's id: an address of the node.
    pub router_id: String,
    /// The autonomous system of the nodes.
    pub autonomous_system: u32,
    /// The routers.
    pub peers: Vec<Peer>,
}

/// A router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Peer {
    /// Its address.
    pub address: String,
    /// Its autonomous system.
    pub autonomous_system: u32,
    /// Whether it is more than one hop away.
    pub multihop: bool,
}

impl KubeVip {
    /// The static pod; none in WireGuard mode. On a cluster's `first` control plane it acts as the super administrator:
    /// the administrator has no rights before the API answers, and the API is reached at this address.
    #[must_use]
    pub fn static_pod(&self, first: bool) -> Option<Value> {
        if matches!(self.mode, Mode::Wireguard(_)) {
            return None;
        }
        let mut pod = self.pod();
        pod["containers"][0]["volumeMounts"] =
            json!([{"mountPath": "/etc/kubernetes/admin.conf", "name": "kubeconfig"}]);
        pod["hostAliases"] = json!([{"hostnames": ["kubernetes"], "ip": "127.0.0.1"}]);
        pod["hostNetwork"] = true.into();
        let kubeconfig =
            if first { "/etc/kubernetes/super-admin.conf" } else { "/etc/kubernetes/admin.conf" };
        pod["volumes"] = json!([{"hostPath": {"path": kubeconfig, "type": "File"}, "name": "kubeconfig"}]);
        Some(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata(Some(NAMESPACE), "kube-vip"), "spec": pod, "status": {},
        }))
    }

    /// The API objects of WireGuard mode: rights, the DaemonSet, and the Secret with the tunnels; none otherwise.
    #[must_use]
    pub fn objects(&self) -> Vec<Attribute> {
        let Mode::Wireguard(tunnels) = &self.mode else { return Vec::new() };
        let rules = json!([
            {"apiGroups": [""], "resources": ["services/status"], "verbs": ["update"]},
            {"apiGroups": [""], "resources": ["services", "endpoints"], "verbs": ["list", "get", "watch", "update"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "get", "watch", "update", "patch"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["wireguard"], "verbs": ["get"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "verbs": ["list", "get", "watch", "update", "create"]},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "get", "watch"]},
        ]);
        let subject = rbac::service_account_subject("kube-vip");
        let mut objects: Vec<Attribute> = [
            rbac::service_account("kube-vip"),
            rbac::cluster_role("system:kube-vip-role", rules),
            rbac::cluster_binding("system:kube-vip-binding", "system:kube-vip-role", subject),
            self.daemon_set(),
        ]
        .iter()
        .map(Attribute::from_json)
        .collect();
        let mut secret = Attribute::from_json(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata(Some(NAMESPACE), "wireguard"),
        }));
        secret.set(&Path::key("stringData").child("tunnels"), tunnels.clone());
        objects.push(secret);
        objects
    }

    fn daemon_set(&self) -> Value {
        let mut pod = self.pod();
        let on = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
        pod["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [on("node-role.kubernetes.io/control-plane")],
        }}});
        // In a network of its own: a tunnel must not outlive the pod that held it.
        pod["hostNetwork"] = false.into();
        pod["securityContext"] = json!({"sysctls": [
            {"name": "net.ipv4.conf.all.src_valid_mark", "value": "1"},
            {"name": "net.ipv4.conf.all.route_localnet", "value": "1"},
        ]});
        pod["serviceAccountName"] = "kube-vip".into();
        pod["tolerations"] = json!([
            {"effect": "NoSchedule", "operator": "Exists"},
            {"effect": "NoExecute", "operator": "Exists"},
        ]);
        let labels = json!({"app.kubernetes.io/name": "kube-vip-ds"});
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata(Some(NAMESPACE), "kube-vip-ds"),
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        })
    }

    /// The common part of static pod and DaemonSet.
    fn pod(&self) -> Value {
        json!({"containers": [{
            "args": ["manager"],
            "env": self.environment(),
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "name": "kube-vip",
            "resources": {},
            "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
        }]})
    }

    fn environment(&self) -> Vec<Value> {
        let mut variables: Vec<(&str, String)> = vec![
            ("vip_arp", (self.mode == Mode::Arp).to_string()),
            ("port", self.port.to_string()),
            ("cp_enable", "true".to_owned()),
            ("cp_namespace", NAMESPACE.to_owned()),
            ("vip_ddns", "false".to_owned()),
            ("svc_enable", "false".to_owned()),
        ];
        if let Some(interface) = &self.interface {
            variables.push(("vip_interface", interface.clone()));
        }
        if let Ok(address) = self.address.parse::<std::net::IpAddr>() {
            variables.push(("vip_subnet", if address.is_ipv4() { "32" } else { "128" }.to_owned()));
        }
        match &self.mode {
            Mode::Arp | Mode::Wireguard(_) => {
                if matches!(self.mode, Mode::Wireguard(_)) {
                    variables.push(("vip_wireguard", "true".to_owned()));
                }
                variables.extend([
                    ("vip_leaderelection", "true".to_owned()),
                    ("vip_leasename", "plndr-cp-lock".to_owned()),
                    ("vip_leaseduration", "5".to_owned()),
                    ("vip_renewdeadline", "3".to_owned()),
                    ("vip_retryperiod", "1".to_owned()),
                ]);
            }
            Mode::Bgp(bgp) => variables.extend([
                ("bgp_enable", "true".to_owned()),
                ("bgp_routerid", bgp.router_id.clone()),
                ("bgp_as", bgp.autonomous_system.to_string()),
                ("bgp_peers", bgp.peers.iter().map(peer).collect::<Vec<_>>().join(",")),
            ]),
        }
        variables.push(("address", self.address.clone()));
        variables.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    }
}

/// `address:AS:password:multihop`, an IPv6 address in brackets.
fn peer(peer: &Peer) -> String {
    let address =
        if peer.address.contains(':') { format!("[{}]", peer.address) } else { peer.address.clone() };
    format!("{address}:{}::{}", peer.autonomous_system, peer.multihop)
}

#[cfg(test)]
mod tests;
