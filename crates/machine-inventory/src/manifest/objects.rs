//! The objects of the manager.

use serde_json::{Value as Json, json};

use super::{Manifest, NAMESPACE};
use crate::api::GROUP;
use crate::crds::PROVIDER;

/// The name of all objects.
const NAME: &str = "slipway-machine-inventory";
/// The secret with the certificate of the registration API.
const TLS_SECRET: &str = "slipway-machine-inventory-tls";
/// The folder of the certificate in the container.
const TLS_FOLDER: &str = "/etc/slipway/tls";
const RBAC: &str = "rbac.authorization.k8s.io";
const CERT_MANAGER: &str = "cert-manager.io/v1";
/// The port of the registration API, and of the endpoints.
const API_PORT: u16 = 9090;
const HEALTH_PORT: u16 = 8081;

fn global(api: &str, kind: &str) -> Json {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": NAME, "labels": {PROVIDER.0: PROVIDER.1}}})
}

fn object(api: &str, kind: &str) -> Json {
    let mut object = global(api, kind);
    object["metadata"]["namespace"] = json!(NAMESPACE);
    object
}

pub(super) fn namespace() -> Json {
    let mut namespace = global("v1", "Namespace");
    namespace["metadata"]["name"] = json!(NAMESPACE);
    namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = json!("restricted");
    namespace
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// The service account and its rights.
pub(super) fn rights() -> Vec<Json> {
    let own = ["elementalclusters", "elementalhosts", "elementalmachines", "elementalregistrations"];
    let status = own.map(|plural| format!("{plural}/status"));
    let status: Vec<&str> = status.iter().map(String::as_str).collect();
    let mut role = global(&format!("{RBAC}/v1"), "ClusterRole");
    role["rules"] = json!([
        rule(GROUP, &own, &["get", "list", "watch", "patch"]),
        rule(GROUP, &status, &["patch"]),
        // Hosts register and leave.
        rule(GROUP, &["elementalhosts"], &["create", "delete"]),
        rule(GROUP, &["elementalmachinetemplates"], &["get"]),
        // A secret that a registration owns blocks its deletion.
        rule(GROUP, &["elementalregistrations/finalizers"], &["update"]),
        rule("cluster.x-k8s.io", &["clusters", "machines"], &["list", "watch"]),
        // The elected endpoint of a cluster moves.
        rule("cluster.x-k8s.io", &["clusters"], &["patch"]),
        // The template of a control plane's machines, whatever its provider.
        rule("controlplane.cluster.x-k8s.io", &["*"], &["get"]),
        // Bootstrap data, kubeconfigs, and keys of registrations.
        rule("", &["secrets"], &["get", "create", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ]);
    let mut lease = object(&format!("{RBAC}/v1"), "Role");
    lease["rules"] = json!([
        // The name of what is created cannot be limited.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [NAME], "verbs": ["get", "update"]},
    ]);
    let subjects = json!([{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]);
    let bind = |mut binding: Json, kind: &str| {
        binding["roleRef"] = json!({"apiGroup": RBAC, "kind": kind, "name": NAME});
        binding["subjects"] = subjects.clone();
        binding
    };
    vec![
        object("v1", "ServiceAccount"),
        role,
        bind(global(&format!("{RBAC}/v1"), "ClusterRoleBinding"), "ClusterRole"),
        lease,
        bind(object(&format!("{RBAC}/v1"), "RoleBinding"), "Role"),
    ]
}

/// A certificate of cert-manager that signs itself: hosts get it with their registration.
pub(super) fn certificate() -> Vec<Json> {
    let mut issuer = object(CERT_MANAGER, "Issuer");
    issuer["spec"] = json!({"selfSigned": {}});
    let mut certificate = object(CERT_MANAGER, "Certificate");
    let names = ["", ".svc", ".svc.cluster.local"].map(|suffix| format!("{NAME}.{NAMESPACE}{suffix}"));
    certificate["spec"] = json!({
        "secretName": TLS_SECRET,
        "dnsNames": names,
        "privateKey": {"algorithm": "ECDSA", "size": 256},
        "issuerRef": {"kind": "Issuer", "name": NAME},
    });
    vec![issuer, certificate]
}

fn selector() -> Json {
    json!({"app.kubernetes.io/name": NAME})
}

pub(super) fn service() -> Json {
    let mut service = object("v1", "Service");
    service["spec"] =
        json!({"selector": selector(), "ports": [{"name": "https", "port": 443, "targetPort": "api"}]});
    service
}

pub(super) fn deployment(manifest: Manifest<'_>) -> Json {
    let mut labels = selector();
    labels[PROVIDER.0] = json!(PROVIDER.1);
    let mut deployment = object("apps/v1", "Deployment");
    deployment["spec"] = json!({
        "replicas": 2,
        "selector": {"matchLabels": selector()},
        "template": {"metadata": {"labels": labels}, "spec": {
            "serviceAccountName": NAME,
            "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector()}}}]}},
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container(manifest)],
            "volumes": [{"name": "tls", "secret": {"secretName": TLS_SECRET}}],
        }},
    });
    deployment
}

fn container(manifest: Manifest<'_>) -> Json {
    let mut flags = vec![
        "manager".to_owned(),
        "--bind-address=0.0.0.0".to_owned(),
        format!("--port={HEALTH_PORT}"),
        format!("--api-address=0.0.0.0:{API_PORT}"),
        format!("--api-cert-file={TLS_FOLDER}/tls.crt"),
        format!("--api-key-file={TLS_FOLDER}/tls.key"),
        format!("--api-ca-file={TLS_FOLDER}/ca.crt"),
    ];
    flags.extend(manifest.api_url.map(|url| format!("--api-url={url}")));
    let probe = |path: &str| json!({ "httpGet": {"port": "health", "path": path} });
    json!({
        // The name by which clusterctl finds the manager.
        "name": "manager",
        "image": manifest.image,
        "command": [NAME],
        "args": flags,
        "ports": [
            {"name": "api", "containerPort": API_PORT}, {"name": "health", "containerPort": HEALTH_PORT},
        ],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/healthz"),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tls", "mountPath": TLS_FOLDER, "readOnly": true}],
    })
}
