//! Everything that installs the controller in a cluster: one file for `kubectl apply`.

use serde_json::{Value as Json, json};
use slipway_bootstrap::{discovery, token};

use crate::program::NAME;

const RBAC: &str = "rbac.authorization.k8s.io";
const PORT: u16 = 8080;
/// The user of the controller in its container.
const USER: u32 = 65532;

/// The objects, in the order in which they can be created. `slipway-token-controller` is in the `PATH` of the image.
#[must_use]
pub fn objects(image: &str) -> Vec<Json> {
    let of_tokens = json!([
        // A right cannot be limited to one type of Secrets.
        rule("", "secrets", &["list", "watch", "delete"]),
        // The name of what is created cannot be limited.
        rule("coordination.k8s.io", "leases", &["create"]),
        named("coordination.k8s.io", "leases", NAME, &["get", "update"]),
    ]);
    let of_cluster_info =
        json!([named("", "configmaps", discovery::CONFIG_MAP, &["list", "watch", "update"])]);
    let mut objects = vec![object("v1", "ServiceAccount", token::NAMESPACE)];
    for (namespace, rules) in [(token::NAMESPACE, of_tokens), (discovery::NAMESPACE, of_cluster_info)] {
        let mut role = object(&format!("{RBAC}/v1"), "Role", namespace);
        role["rules"] = rules;
        let mut binding = object(&format!("{RBAC}/v1"), "RoleBinding", namespace);
        binding["roleRef"] = json!({"apiGroup": RBAC, "kind": "Role", "name": NAME});
        binding["subjects"] =
            json!([{"kind": "ServiceAccount", "name": NAME, "namespace": token::NAMESPACE}]);
        objects.extend([role, binding]);
    }
    objects.push(deployment(image));
    objects
}

fn object(api: &str, kind: &str, namespace: &str) -> Json {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": NAME, "namespace": namespace}})
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

fn named(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Json {
    let mut rule = rule(group, resource, verbs);
    rule["resourceNames"] = json!([name]);
    rule
}

fn deployment(image: &str) -> Json {
    let labels = json!({ "app.kubernetes.io/name": NAME });
    let control_plane = "node-role.kubernetes.io/control-plane";
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }]);
    let mut deployment = object("apps/v1", "Deployment", token::NAMESPACE);
    deployment["spec"] = json!({
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "serviceAccountName": NAME,
            // Workers join with tokens: the controller must run before there is one.
            "tolerations": [{"key": control_plane, "operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "topologySpreadConstraints": spread,
            "containers": [container(image)],
        }},
    });
    deployment
}

fn container(image: &str) -> Json {
    let probe = |path: &str| json!({"httpGet": {"port": "http", "path": path}});
    json!({
        "name": NAME,
        "image": image,
        "command": [NAME],
        "args": ["controller", "--bind-address=0.0.0.0", format!("--port={PORT}")],
        "ports": [{"name": "http", "protocol": "TCP", "containerPort": PORT}],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
    })
}
