//! flannel as the network of pods: the objects that its documentation names, made of few settings.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::objects::{metadata, rbac};

const NAMESPACE: &str = "kube-flannel";
const CONFIGURATION: &str = "kube-flannel-cfg";
const CONFIGURATION_PATH: &str = "/etc/kube-flannel";

/// How flannel is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flannel {
    /// The image with `flanneld`; it has to have `cp` as well.
    pub image: String,
    /// The image with flannel's own plugin for the container runtime as `/flannel`; absent where the hosts have it.
    pub plugin_image: Option<String>,
    /// The folder of the hosts in which the runtime looks for plugins.
    pub plugin_folder: String,
    /// How packets get from node to node: `vxlan`, `host-gw`, `wireguard`, ….
    pub backend: String,
    /// Whether rules of nftables are made, not of iptables.
    pub nftables: bool,
    /// Interfaces or addresses that it uses, the first that is there; empty for that of the default route.
    pub interfaces: Vec<String>,
}

impl Default for Flannel {
    fn default() -> Self {
        Self {
            image: "ghcr.io/flannel-io/flannel:v0.28.10".to_owned(),
            plugin_image: Some("ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3".to_owned()),
            plugin_folder: "/opt/cni/bin".to_owned(),
            backend: "vxlan".to_owned(),
            nftables: false,
            interfaces: Vec::new(),
        }
    }
}

/// flannel's namespace, rights, settings and DaemonSet for these ranges of pods.
#[must_use]
pub fn flannel(settings: &Flannel, pods: &[IpNet]) -> Vec<Value> {
    let mut namespace = metadata(None, NAMESPACE);
    namespace["labels"] = json!({"k8s-app": "flannel", "pod-security.kubernetes.io/enforce": "privileged"});
    let mut account = metadata(Some(NAMESPACE), "flannel");
    account["labels"] = json!({"k8s-app": "flannel"});
    let rules = json!([
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]);
    let subject = json!({"kind": "ServiceAccount", "name": "flannel", "namespace": NAMESPACE});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}),
        rbac::cluster_role("flannel", rules),
        rbac::cluster_binding("flannel", "flannel", subject),
        configuration(settings, pods),
        daemon_set(settings),
    ]
}

fn configuration(settings: &Flannel, pods: &[IpNet]) -> Value {
    let plugins = json!({
        "name": "cbr0",
        "cniVersion": "0.3.1",
        "plugins": [
            {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    let mut network = Map::new();
    for range in pods {
        match range {
            IpNet::V4(range) => network.insert("Network".to_owned(), range.to_string().into()),
            IpNet::V6(range) => {
                network.insert("EnableIPv6".to_owned(), true.into());
                network.insert("IPv6Network".to_owned(), range.to_string().into())
            }
        };
    }
    if !network.contains_key("Network") {
        network.insert("EnableIPv4".to_owned(), false.into());
    }
    network.insert("EnableNFTables".to_owned(), settings.nftables.into());
    network.insert("Backend".to_owned(), json!({"Type": settings.backend}));
    let mut metadata = metadata(Some(NAMESPACE), CONFIGURATION);
    metadata["labels"] = json!({"tier": "node", "k8s-app": "flannel", "app": "flannel"});
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": {"cni-conf.json": format!("{plugins:#}\n"), "net-conf.json": format!("{:#}\n", Value::from(network))},
    })
}

fn daemon_set(settings: &Flannel) -> Value {
    let mut metadata = metadata(Some(NAMESPACE), "kube-flannel-ds");
    metadata["labels"] = json!({"tier": "node", "app": "flannel", "k8s-app": "flannel"});
    let host = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let copy = |name: &str, image: &str, from: &str, to: String, mounts: Value| json!({"name": name, "image": image, "command": ["cp"], "args": ["-f", from, to], "volumeMounts": mounts});
    let mut first = Vec::new();
    let mut volumes = vec![
        host("run", "/run/flannel"),
        host("cni", "/etc/cni/net.d"),
        json!({"name": "flannel-cfg", "configMap": {"name": CONFIGURATION}}),
        json!({"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}}),
    ];
    if let Some(image) = &settings.plugin_image {
        let to = format!("{}/flannel", settings.plugin_folder);
        let mounts = json!([mount("cni-plugin", &settings.plugin_folder)]);
        first.push(copy("install-cni-plugin", image, "/flannel", to, mounts));
        volumes.push(host("cni-plugin", &settings.plugin_folder));
    }
    first.push(copy(
        "install-cni",
        &settings.image,
        &format!("{CONFIGURATION_PATH}/cni-conf.json"),
        "/etc/cni/net.d/10-flannel.conflist".to_owned(),
        json!([mount("cni", "/etc/cni/net.d"), mount("flannel-cfg", CONFIGURATION_PATH)]),
    ));
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let mut arguments = vec!["--ip-masq".to_owned(), "--kube-subnet-mgr".to_owned()];
    arguments.extend(settings.interfaces.iter().map(|interface| format!("--iface={interface}")));
    let container = json!({
        "name": "kube-flannel",
        "image": settings.image,
        "command": ["/opt/bin/flanneld"],
        "args": arguments,
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
        "securityContext": {"privileged": false, "capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}},
        "env": [
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
            {"name": "EVENT_QUEUE_DEPTH", "value": "5000"},
            {"name": "CONT_WHEN_CACHE_NOT_READY", "value": "false"},
        ],
        "volumeMounts": [
            mount("run", "/run/flannel"),
            mount("flannel-cfg", CONFIGURATION_PATH),
            mount("xtables-lock", "/run/xtables.lock"),
        ],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": {"app": "flannel"}},
            "template": {
                "metadata": {"labels": {"tier": "node", "app": "flannel"}},
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "hostNetwork": true,
                    "priorityClassName": "system-node-critical",
                    // A node gets its network before it is ready for anything else.
                    "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                    "serviceAccountName": "flannel",
                    "initContainers": first,
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    })
}
