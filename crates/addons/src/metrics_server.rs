//! metrics-server: the present resource usage of pods and nodes, for `kubectl top` and for autoscaling of
//! pods.

use serde_json::{Value, json};
use slipway_cluster_input::ClusterInput;

use crate::object::{Family, port, rule, spread};
use crate::settings::{Settings, addon};

/// The name of the add-on.
pub(crate) const NAME: &str = "metrics-server";
const IMAGE: &str = "registry.k8s.io/metrics-server/metrics-server:v0.8.0";
const GROUP: &str = "metrics.k8s.io";
/// The Secret with the serving certificate, where that is not made up at every start.
const SECRET: &str = "metrics-server-tls";

pub(crate) fn objects(cluster: &ClusterInput) -> Vec<Value> {
    let settings = Settings::of(cluster, NAME);
    let insecure = settings.flag("insecure", true);
    let family = Family::new([("k8s-app", NAME)]);
    let mut reader = family.cluster_role(
        "system:aggregated-metrics-reader",
        json!([rule(GROUP, &["pods", "nodes"], &["get", "list", "watch"])]),
    );
    for role in ["admin", "edit", "view"] {
        reader["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{role}")] =
            "true".into();
    }
    let rules = json!([
        rule("", &["nodes/metrics"], &["get"]),
        rule("", &["pods", "nodes"], &["get", "list", "watch"]),
    ]);
    let budget = json!({"minAvailable": 1, "selector": {"matchLabels": {"k8s-app": NAME}}});
    let ports = json!([{"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"}]);
    let mut objects = vec![
        family.service_account(NAME),
        reader,
        family.cluster_role("system:metrics-server", rules),
        family.binding("metrics-server-auth-reader", "extension-apiserver-authentication-reader", NAME),
        family.cluster_binding("metrics-server:system:auth-delegator", "system:auth-delegator", NAME),
        family.cluster_binding("system:metrics-server", "system:metrics-server", NAME),
        family.service(NAME, json!({"k8s-app": NAME}), ports),
        deployment(cluster, &family, insecure),
        api_service(&family, insecure),
        family.budget(NAME, budget),
    ];
    if !insecure {
        objects.push(certificate(&family));
    }
    objects
}

fn deployment(cluster: &ClusterInput, family: &Family, insecure: bool) -> Value {
    let settings = Settings::of(cluster, NAME);
    let mut arguments = vec![
        "--secure-port=10250",
        "--kubelet-preferred-address-types=Hostname",
        "--kubelet-use-node-status-port",
        "--metric-resolution=15s",
        "--kubelet-insecure-tls",
    ];
    let mut mounts = vec![json!({"name": "tmp-dir", "mountPath": "/tmp"})];
    let mut volumes = vec![json!({"name": "tmp-dir", "emptyDir": {}})];
    if insecure {
        arguments.push("--cert-dir=/tmp");
    } else {
        arguments.extend(["--tls-cert-file=/srv/tls.crt", "--tls-private-key-file=/srv/tls.key"]);
        mounts.push(json!({"name": "certs", "mountPath": "/srv"}));
        volumes.push(json!({"name": "certs", "secret": {"secretName": SECRET}}));
    }
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}, "periodSeconds": 10, "failureThreshold": 3});
    let container = json!({
        "name": NAME,
        "image": settings.text_or("image", IMAGE),
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "ports": [port("https", 10250)],
        "livenessProbe": probe("/livez"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "runAsNonRoot": true, "runAsUser": 1000,
        },
        "volumeMounts": mounts,
    });
    let replicas = addon(cluster, NAME).and_then(|addon| addon.replicas).unwrap_or(2);
    let mut object = family.object("apps/v1", "Deployment", NAME);
    object["spec"] = json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"k8s-app": NAME}},
        "template": {
            "metadata": {"labels": {"k8s-app": NAME}},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "priorityClassName": "system-cluster-critical",
                "serviceAccountName": NAME,
                "topologySpreadConstraints": spread(&json!({"k8s-app": NAME}), false),
                "containers": [container],
                "volumes": volumes,
            },
        },
    });
    object
}

fn api_service(family: &Family, insecure: bool) -> Value {
    let mut object = family.global("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io");
    object["spec"] = json!({
        "group": GROUP, "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
        "service": {"name": NAME, "namespace": crate::object::SYSTEM},
    });
    if insecure {
        object["spec"]["insecureSkipTLSVerify"] = true.into();
    } else {
        object["metadata"]["annotations"] =
            json!({"cert-manager.io/inject-ca-from": "kube-system/metrics-server"});
    }
    object
}

fn certificate(family: &Family) -> Value {
    let mut object = family.object("cert-manager.io/v1", "Certificate", NAME);
    object["spec"] = json!({
        "secretName": SECRET, "duration": "2160h", "renewBefore": "360h",
        "usages": ["server auth"], "dnsNames": ["metrics-server.kube-system.svc"],
        "issuerRef": {"name": "metrics-server.addons.k8s.io", "kind": "Issuer"},
    });
    object
}
