//! `slipway-cloud-controller`: everything that installs it in a cluster.

use serde_json::{Value as Json, json};

use crate::object::{Family, SYSTEM, named, rule};

/// The name of all objects.
const NAME: &str = "slipway-cloud-controller";
/// The Lease of cloud controller managers: while one holds it, another one waits.
const LEASE: &str = "cloud-controller-manager";
/// The folder of the configuration in the container, and its file.
const CONFIGURATION: &str = "/etc/slipway";
const FILE: &str = "cloud.yaml";
const PORT: u16 = 10258;

/// The inputs of a cloud controller's manifest.
#[derive(Clone, Copy, Debug)]
pub struct CloudControllerManifest<'a> {
    /// The name of the provider.
    pub provider: &'a str,
    /// An image with the executables of the controller and the provider.
    pub image: &'a str,
    /// The name of the cluster, as its instances carry it.
    pub cluster_name: &'a str,
    /// The region and the configuration of the provider, as YAML.
    pub configuration: Option<&'a str>,
    /// The namespace of the controller.
    pub namespace: &'a str,
    /// The range of the pods of the cluster, or two: `--cluster-cidr`. The controller creates routes to it.
    pub cluster_cidr: Option<&'a str>,
    /// Whether nodes get ranges of it.
    pub allocate_node_cidrs: bool,
}

/// The objects, in the order in which they can be created: namespace, service account, rights, configuration, Deployment.
#[must_use]
pub fn cloud_controller_manifest(manifest: CloudControllerManifest<'_>) -> Vec<Json> {
    let namespace = manifest.namespace;
    let family = Family::within(namespace, []);
    let of_leases = Family::within(SYSTEM, []);
    let mut own_namespace = family.global("v1", "Namespace", namespace);
    // The network of the host is not allowed to others.
    own_namespace["metadata"]["labels"] = json!({"pod-security.kubernetes.io/enforce": "privileged"});
    let of_cluster = json!([
        rule("", &["nodes"], &["list", "watch", "patch", "delete"]),
        rule("", &["nodes/status"], &["patch"]),
        // The finalizer of a Service is patched by way of its status.
        rule("", &["services"], &["list", "watch"]),
        rule("", &["services/status"], &["patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ]);
    let of_lease = json!([
        // The name of what is created cannot be limited.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named("coordination.k8s.io", &["leases"], &[LEASE], &["get", "update"]),
    ]);
    let mut objects = vec![
        own_namespace,
        family.service_account(NAME),
        family.cluster_role(NAME, of_cluster),
        family.cluster_binding(NAME, NAME, NAME),
        of_leases.role(NAME, of_lease),
        of_leases.binding_of(NAME, NAME, (NAME, namespace)),
    ];
    if let Some(text) = manifest.configuration {
        let mut secret = family.object("v1", "Secret", NAME);
        secret["stringData"] = json!({FILE: text});
        objects.push(secret);
    }
    objects.push(deployment(manifest));
    objects
}

fn deployment(manifest: CloudControllerManifest<'_>) -> Json {
    let labels = json!({ "app.kubernetes.io/name": NAME });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": manifest.namespace, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            // Two pods on one node would share a port, so the old one is deleted first.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": pod(manifest, &labels)},
        },
    })
}

fn pod(manifest: CloudControllerManifest<'_>, labels: &Json) -> Json {
    let mut volumes = vec![json!({"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}})];
    if manifest.configuration.is_some() {
        volumes.push(json!({"name": "configuration", "secret": {"secretName": NAME}}));
    }
    let exists = |key: &str| json!({ "key": key, "operator": "Exists" });
    let control_plane = "node-role.kubernetes.io/control-plane";
    json!({
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        // It runs before the cluster has a network of pods and a DNS server.
        "hostNetwork": true,
        "dnsPolicy": "Default",
        "tolerations": [
            exists("node.cloudprovider.kubernetes.io/uninitialized"),
            exists(control_plane),
            exists("node.kubernetes.io/not-ready"),
            exists("node.kubernetes.io/network-unavailable"),
        ],
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [exists(control_plane)]}}]},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}]},
        },
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container(manifest)],
        "volumes": volumes,
    })
}

fn container(manifest: CloudControllerManifest<'_>) -> Json {
    let mut flags = vec![
        format!("--cloud-provider={}", manifest.provider),
        format!("--cluster-name={}", manifest.cluster_name),
    ];
    flags.extend(manifest.cluster_cidr.map(|ranges| format!("--cluster-cidr={ranges}")));
    flags.extend(manifest.allocate_node_cidrs.then(|| "--allocate-node-cidrs".to_owned()));
    let mut mounts = vec![json!({"name": "tmp", "mountPath": "/tmp"})];
    if manifest.configuration.is_some() {
        flags.push(format!("--cloud-config={CONFIGURATION}/{FILE}"));
        mounts.push(json!({"name": "configuration", "mountPath": CONFIGURATION, "readOnly": true}));
    }
    let probe = |path: &str| json!({ "httpGet": {"host": "127.0.0.1", "port": PORT, "path": path} });
    json!({
        "name": NAME,
        "image": manifest.image,
        "command": [NAME],
        "args": flags,
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    })
}
