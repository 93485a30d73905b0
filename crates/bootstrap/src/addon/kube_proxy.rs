use serde_json::{Map, Value, json};

use crate::configuration::Configuration;
use crate::expand::Facts;
use crate::objects::{BOOTSTRAPPERS, SYSTEM, config_map, metadata, rbac, role_and_binding};
use crate::shape::KUBE_PROXY;
use crate::version::Images;
use crate::yaml;

const KUBECONFIG: &str = "/var/lib/kube-proxy/kubeconfig.conf";

/// kube-proxy: its configuration, its DaemonSet, and its rights.
#[must_use]
pub fn kube_proxy(configuration: &Configuration, facts: &Facts) -> Vec<Value> {
    let data = vec![
        ("config.conf", yaml::to_string(&settings(configuration)).trim_end_matches('\n').to_owned()),
        ("kubeconfig.conf", kubeconfig(&configuration.node_endpoint().url())),
    ];
    let mut settings = config_map(SYSTEM, "kube-proxy", data, configuration.kube_proxy.is_none());
    settings["metadata"]["labels"] = json!({"app": "kube-proxy"});
    let [role, binding] =
        role_and_binding(SYSTEM, "kube-proxy", "configmaps", "kube-proxy", vec![rbac::group(BOOTSTRAPPERS)]);
    vec![
        settings,
        daemon_set(&Images::of(&configuration.cluster).kube_proxy, facts),
        rbac::service_account("kube-proxy"),
        rbac::cluster_binding(
            "kubeadm:node-proxier",
            "system:node-proxier",
            rbac::service_account_subject("kube-proxy"),
        ),
        role,
        binding,
    ]
}

fn settings(configuration: &Configuration) -> Value {
    let mut settings = configuration.kube_proxy.clone().unwrap_or_default();
    let address = if configuration.node.advertise_address.is_ipv4() { "0.0.0.0" } else { "::" };
    default(&mut settings, "bindAddress", address);
    default(&mut settings, "clusterCIDR", &configuration.cluster.networking.pod_subnet);
    let mut client = match settings.remove("clientConnection") {
        Some(Value::Object(client)) => client,
        _ => Map::new(),
    };
    default(&mut client, "kubeconfig", KUBECONFIG);
    settings.insert("clientConnection".to_owned(), client.into());
    settings.insert("apiVersion".to_owned(), "kubeproxy.config.k8s.io/v1alpha1".into());
    settings.insert("kind".to_owned(), "KubeProxyConfiguration".into());
    KUBE_PROXY.encode(Some(&Value::Object(settings)))
}

fn default(settings: &mut Map<String, Value>, key: &str, value: &str) {
    if settings.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
        settings.insert(key.to_owned(), value.into());
    }
}

/// The kubeconfig with which it reaches the API: the token is its service account's.
fn kubeconfig(server: &str) -> String {
    let account = "/var/run/secrets/kubernetes.io/serviceaccount";
    // Not in the order in which a writer of YAML puts keys, and the hash is over these bytes.
    format!(
        "apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: {account}/ca.crt
    server: {server}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: {account}/token"
    )
}

fn daemon_set(image: &str, facts: &Facts) -> Value {
    let labels = json!({"k8s-app": "kube-proxy"});
    let mut metadata = metadata(Some(SYSTEM), "kube-proxy");
    metadata["labels"] = labels.clone();
    let mut environment = vec![json!({
        "name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
    })];
    environment.extend(
        facts
            .proxy_environment
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| json!({"name": name, "value": value})),
    );
    let container = json!({
        "name": "kube-proxy",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "/usr/local/bin/kube-proxy",
            "--config=/var/lib/kube-proxy/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": environment,
        "resources": {},
        "securityContext": {"privileged": true},
        "volumeMounts": [
            {"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"},
            {"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
            {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": true},
        ],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "priorityClassName": "system-node-critical",
                    "containers": [container],
                    "hostNetwork": true,
                    "serviceAccountName": "kube-proxy",
                    "volumes": [
                        {"name": "kube-proxy", "configMap": {"name": "kube-proxy"}},
                        {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
                        {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
                    ],
                    "tolerations": [{"operator": "Exists"}],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                },
            },
        },
    })
}
