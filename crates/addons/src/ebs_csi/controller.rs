//! The driver's controller with its helpers: they create, attach, resize and snapshot volumes.

use serde_json::{Value, json};

use super::{CONTROLLER, CONTROLLER_ACCOUNT, Driver, LIVENESS_IMAGE, confined, healthy, labels, mount};
use crate::object::{Family, control_planes_only, port, spread, variable};
use crate::settings::addon;

/// The folder with the driver's socket.
const SOCKETS: &str = "/var/lib/csi/sockets/pluginproxy/";
/// Where metrics are had, by container.
const METRICS: [(&str, u16); 7] = [
    ("", 3301),
    ("-provisioner", 3302),
    ("-attacher", 3303),
    ("-resizer", 3304),
    ("-liveness-probe", 3305),
    ("-snapshotter", 3306),
    ("-volumemodifier", 3307),
];

/// A service for the metrics of each container.
pub(super) fn services(family: &Family) -> impl Iterator<Item = Value> {
    METRICS.iter().map(move |(suffix, number)| {
        let ports = json!([{"name": "metrics", "port": number, "targetPort": number, "protocol": "TCP"}]);
        family.service(&format!("{CONTROLLER}{suffix}"), json!({"app": CONTROLLER}), ports)
    })
}

pub(super) fn deployment(driver: &Driver<'_>) -> Value {
    let mut containers = vec![plugin(driver), provisioner(driver), attacher(driver)];
    if driver.snapshots {
        containers.push(snapshotter(driver));
    }
    containers.extend([resizer(driver), liveness()]);
    let mut pod = json!({
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "serviceAccountName": CONTROLLER_ACCOUNT,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "topologySpreadConstraints": spread(&labels(CONTROLLER), true),
        "containers": containers,
        "volumes": [{"name": "socket-dir", "emptyDir": {}}],
    });
    if driver.facts.has_roles() {
        pod["tolerations"] = json!([
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 300},
        ]);
    } else {
        pod["affinity"] = control_planes_only();
        pod["hostNetwork"] = true.into();
        pod["tolerations"] = json!([{"operator": "Exists"}]);
    }
    let replicas = addon(driver.cluster, super::NAME).and_then(|addon| addon.replicas);
    let mut object = driver.family.object("apps/v1", "Deployment", CONTROLLER);
    object["spec"] = json!({
        "replicas": replicas.unwrap_or_else(|| crate::object::replicas(driver.cluster)),
        "selector": {"matchLabels": labels(CONTROLLER)},
        // Two of them cannot share the ports of one machine.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "template": {"metadata": driver.pod_metadata(CONTROLLER), "spec": pod},
    });
    object
}

/// The tags of the volumes that it makes.
fn tags(driver: &Driver<'_>) -> String {
    let cluster = driver.cluster;
    let mut tags = vec![format!("KubernetesCluster={}", cluster.name)];
    tags.extend(cluster.cloud_labels.iter().map(|(name, value)| format!("{name}={value}")));
    tags.sort();
    tags.join(",")
}

fn plugin(driver: &Driver<'_>) -> Value {
    let arguments = vec![
        "controller".to_owned(),
        "--endpoint=$(CSI_ENDPOINT)".to_owned(),
        format!("--extra-tags={}", tags(driver)),
        format!("--k8s-tag-cluster-id={}", driver.cluster.name),
        "--http-endpoint=0.0.0.0:3301".to_owned(),
        "--batching=true".to_owned(),
        "--logging-format=text".to_owned(),
        "--v=5".to_owned(),
    ];
    let mut plugin = driver.plugin(arguments, &format!("unix://{SOCKETS}csi.sock"));
    let from = |kind: &str, name: &str, source: &str, key: &str| {
        let mut variable = json!({"name": name, "valueFrom": {}});
        variable["valueFrom"][kind] = json!({"name": source, "key": key, "optional": true});
        variable
    };
    if let Some(environment) = plugin.get_mut("env").and_then(Value::as_array_mut) {
        environment.extend([
            from("secretKeyRef", "AWS_ACCESS_KEY_ID", "aws-secret", "key_id"),
            from("secretKeyRef", "AWS_SECRET_ACCESS_KEY", "aws-secret", "access_key"),
            from("configMapKeyRef", "AWS_EC2_ENDPOINT", "aws-meta", "endpoint"),
            from("configMapKeyRef", "AWS_SAGEMAKER_ENDPOINT", "aws-meta", "sagemaker_endpoint"),
        ]);
    }
    plugin["ports"] = json!([port("healthz", 9808), port("metrics", 3301)]);
    plugin["readinessProbe"] = healthy(10);
    plugin["securityContext"] = confined();
    plugin["volumeMounts"] = json!([mount("socket-dir", SOCKETS)]);
    plugin
}

/// A helper beside the driver. All of them elect a leader, and share limits for the API.
fn helper(driver: &Driver<'_>, name: &str, image: &str, number: u16, arguments: &[&str]) -> Value {
    let settings = driver.settings;
    let mut all = vec![
        "--csi-address=$(ADDRESS)".to_owned(),
        "--leader-election=true".to_owned(),
        format!("--http-endpoint=0.0.0.0:{number}"),
        format!("--kube-api-qps={}", settings.text_or("kubeAPIQPS", "20")),
        format!("--kube-api-burst={}", settings.text_or("kubeAPIBurst", "100")),
        "--v=5".to_owned(),
    ];
    all.extend(arguments.iter().map(|&argument| argument.to_owned()));
    json!({
        "name": name,
        "image": format!("registry.k8s.io/sig-storage/{image}"),
        "imagePullPolicy": "IfNotPresent",
        "args": all,
        "env": [variable("ADDRESS", format!("{SOCKETS}csi.sock"))],
        "ports": [port("metrics", number)],
        "securityContext": confined(),
        "volumeMounts": [mount("socket-dir", SOCKETS)],
    })
}

/// Lets a helper do without attributes classes of volumes where the API does not have them.
fn without_attributes_classes(mut container: Value) -> Value {
    if let Some(environment) = container.get_mut("env").and_then(Value::as_array_mut) {
        environment.push(variable("ENABLE_VAC_FALLBACK", "true"));
    }
    container
}

fn provisioner(driver: &Driver<'_>) -> Value {
    without_attributes_classes(helper(
        driver,
        "csi-provisioner",
        "csi-provisioner:v6.2.0",
        3302,
        &[
            "--timeout=60s",
            "--feature-gates=Topology=true",
            "--feature-gates=VolumeAttributesClass=false",
            "--extra-create-metadata",
            "--default-fstype=ext4",
            "--worker-threads=100",
            "--retry-interval-max=30m",
        ],
    ))
}

fn attacher(driver: &Driver<'_>) -> Value {
    helper(
        driver,
        "csi-attacher",
        "csi-attacher:v4.11.0",
        3303,
        &[
            "--timeout=6m",
            "--feature-gates=MutableCSINodeAllocatableCount=true",
            "--worker-threads=100",
            "--retry-interval-max=5m",
        ],
    )
}

fn snapshotter(driver: &Driver<'_>) -> Value {
    helper(
        driver,
        "csi-snapshotter",
        "csi-snapshotter:v8.5.0",
        3306,
        &["--extra-create-metadata", "--worker-threads=100", "--retry-interval-max=30m"],
    )
}

fn resizer(driver: &Driver<'_>) -> Value {
    without_attributes_classes(helper(
        driver,
        "csi-resizer",
        "csi-resizer:v2.1.0",
        3304,
        &[
            "--timeout=60s",
            "--extra-modify-metadata",
            "--handle-volume-inuse-error=false",
            "--feature-gates=VolumeAttributesClass=false",
            "--workers=100",
            "--retry-interval-max=30m",
        ],
    ))
}

fn liveness() -> Value {
    json!({
        "name": "liveness-probe",
        "image": LIVENESS_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["--csi-address=/csi/csi.sock", "--metrics-address=0.0.0.0:3305", "--probe-timeout=60s"],
        "ports": [port("metrics", 3305)],
        "securityContext": confined(),
        "volumeMounts": [mount("socket-dir", "/csi")],
    })
}
