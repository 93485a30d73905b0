//! flannel as the network of pods.

use serde_json::{Value, json};
use slipway_cluster_input::ClusterInput;

use crate::object::{Family, field, rule, variable};
use crate::settings::Settings;

/// The name of the pod network.
pub(crate) const NAME: &str = "flannel";
const NAMESPACE: &str = "kube-flannel";
const OBJECT: &str = "kube-flannel-ds";
const CONFIGURATION: &str = "kube-flannel-cfg";
const CONFIGURATION_PATH: &str = "/etc/kube-flannel/";
const IMAGE: &str = "ghcr.io/flannel-io/flannel:v0.27.4";
const PLUGIN_IMAGE: &str = "ghcr.io/flannel-io/flannel-cni-plugin:v1.8.0-flannel1";

/// The chain of plugins, in the format of CNI.
const PLUGINS: &str = r#"{
  "name": "cbr0",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "flannel",
      "delegate": {
        "hairpinMode": true,
        "isDefaultGateway": true
      }
    },
    {
      "type": "portmap",
      "capabilities": {
        "portMappings": true
      }
    }
  ]
}
"#;

pub(crate) fn objects(cluster: &ClusterInput) -> Vec<Value> {
    let family = Family::within(NAMESPACE, [("k8s-app", NAME)]);
    let mut namespace = family.global("v1", "Namespace", NAMESPACE);
    namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged".into();
    let rules = json!([
        rule("", &["pods"], &["get"]),
        rule("", &["nodes"], &["get", "list", "watch"]),
        rule("", &["nodes/status"], &["patch"]),
    ]);
    let labelled = Family::within(NAMESPACE, [("k8s-app", NAME), ("app", NAME), ("tier", "node")]);
    let mut configuration = labelled.object("v1", "ConfigMap", CONFIGURATION);
    configuration["data"] = json!({"cni-conf.json": PLUGINS, "net-conf.json": network(cluster)});
    vec![
        namespace,
        family.cluster_role(NAME, rules),
        family.cluster_binding(NAME, NAME, NAME),
        family.service_account(NAME),
        configuration,
        daemon_set(cluster, &labelled),
    ]
}

/// The addresses that are not translated on their way, and how packets get from node to node.
fn network(cluster: &ClusterInput) -> String {
    let backend = Settings::of_network(cluster).text_or("backend", "udp");
    let own = Settings::of_network(cluster).text("nonMasqueradeCIDR");
    let range = own.or_else(|| non_masqueraded(cluster)).unwrap_or_default();
    format!(
        "{{\n  \"Network\": \"{range}\",\n  \"EnableNFTables\": false,\n  \"Backend\": {{\n    \"Type\": \"{backend}\"\n  }}\n}}\n"
    )
}

/// The range that has the pods' and the services' in it.
fn non_masqueraded(cluster: &ClusterInput) -> Option<String> {
    let pods = cluster.network.pod_cidrs.first()?.net();
    let services = cluster.network.service_cidrs.first()?.net();
    let both = std::iter::successors(pods.supernet(), |range| range.supernet())
        .find(|range| range.contains(&services) && range.contains(&pods));
    // Two ranges far from each other have none of their own in common.
    let both = both.filter(|range| range.prefix_len() >= 8);
    Some(both.unwrap_or(pods).to_string())
}

fn daemon_set(cluster: &ClusterInput, family: &Family) -> Value {
    let resync = Settings::of_network(cluster).text_or("iptablesResyncSeconds", "5");
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let host = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
    let copy = |name: &str, image: &str, from: &str, to: &str, mounts: Value| json!({"name": name, "image": image, "command": ["cp"], "args": ["-f", from, to], "volumeMounts": mounts});
    let first = json!([
        copy(
            "install-cni-plugin",
            PLUGIN_IMAGE,
            "/flannel",
            "/opt/cni/bin/flannel",
            json!([mount("cni-plugin", "/opt/cni/bin")])
        ),
        copy(
            "install-cni",
            IMAGE,
            "/etc/kube-flannel/cni-conf.json",
            "/etc/cni/net.d/10-flannel.conflist",
            json!([mount("cni", "/etc/cni/net.d"), mount("flannel-cfg", CONFIGURATION_PATH)]),
        ),
    ]);
    let container = json!({
        "name": "kube-flannel",
        "image": IMAGE,
        "command": ["/opt/bin/flanneld"],
        "args": ["--ip-masq", "--kube-subnet-mgr", format!("--iptables-resync={resync}")],
        "env": [
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
            variable("EVENT_QUEUE_DEPTH", "5000"),
            variable("CONT_WHEN_CACHE_NOT_READY", "false"),
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
        "securityContext": {"privileged": false, "capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}},
        "volumeMounts": [
            mount("run", "/run/flannel"),
            mount("flannel-cfg", CONFIGURATION_PATH),
            mount("xtables-lock", "/run/xtables.lock"),
        ],
    });
    let linux =
        json!({"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]});
    let labels = json!({"tier": "node", "app": NAME});
    let mut object = family.object("apps/v1", "DaemonSet", OBJECT);
    object["spec"] = json!({
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [linux]}}},
                "hostNetwork": true,
                "priorityClassName": "system-node-critical",
                // A node gets its network before it is ready for anything else.
                "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                "serviceAccountName": NAME,
                "initContainers": first,
                "containers": [container],
                "volumes": [
                    host("run", "/run/flannel"),
                    host("cni-plugin", "/opt/cni/bin"),
                    host("cni", "/etc/cni/net.d"),
                    {"name": "flannel-cfg", "configMap": {"name": CONFIGURATION}},
                    {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
                ],
            },
        },
    });
    object
}
