//! The driver on every node: it mounts volumes into pods.

use serde_json::{Value, json};

use super::{Driver, LIVENESS_IMAGE, NODE, NODE_ACCOUNT, confined, labels, mount};
use crate::object::{port, variable};

const REGISTRAR_IMAGE: &str = "registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.16.0";
const PLUGIN: &str = "/var/lib/kubelet/plugins/ebs.csi.aws.com/";

pub(super) fn daemon_set(driver: &Driver<'_>) -> Value {
    let host =
        |name: &str, path: &str, kind: &str| json!({"name": name, "hostPath": {"path": path, "type": kind}});
    let mut object = driver.family.object("apps/v1", "DaemonSet", NODE);
    object["spec"] = json!({
        "selector": {"matchLabels": labels(NODE)},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {
            "metadata": driver.pod_metadata(NODE),
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "serviceAccountName": NODE_ACCOUNT,
                "priorityClassName": "system-node-critical",
                "hostNetwork": driver.settings.flag("hostNetwork", false),
                "securityContext": {"runAsNonRoot": false, "runAsUser": 0, "runAsGroup": 0, "fsGroup": 0},
                "tolerations": [{"operator": "Exists"}],
                "containers": [plugin(driver), registrar(), liveness()],
                "volumes": [
                    host("kubelet-dir", "/var/lib/kubelet", "Directory"),
                    host("plugin-dir", PLUGIN, "DirectoryOrCreate"),
                    host("registration-dir", "/var/lib/kubelet/plugins_registry/", "Directory"),
                    host("device-dir", "/dev", "Directory"),
                    {"name": "probe-dir", "emptyDir": {}},
                ],
            },
        },
    });
    object
}

fn plugin(driver: &Driver<'_>) -> Value {
    let mut arguments = vec![
        "node".to_owned(),
        "--endpoint=$(CSI_ENDPOINT)".to_owned(),
        "--csi-mount-point-prefix=/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/".to_owned(),
        "--logging-format=text".to_owned(),
        "--v=5".to_owned(),
    ];
    if let Some(limit) = driver.settings.text("volumeAttachLimit") {
        arguments.push(format!("--volume-attach-limit={limit}"));
    }
    let mut plugin = driver.plugin(arguments, "unix:/csi/csi.sock");
    plugin["securityContext"] = json!({"privileged": true, "readOnlyRootFilesystem": true});
    plugin["ports"] = json!([port("healthz", 9808)]);
    plugin["volumeMounts"] = json!([
        {"name": "kubelet-dir", "mountPath": "/var/lib/kubelet", "mountPropagation": "Bidirectional"},
        mount("plugin-dir", "/csi"),
        mount("device-dir", "/dev"),
    ]);
    plugin
}

fn registrar() -> Value {
    json!({
        "name": "node-driver-registrar",
        "image": REGISTRAR_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "--csi-address=$(ADDRESS)",
            "--kubelet-registration-path=$(DRIVER_REG_SOCK_PATH)",
            "--http-endpoint=0.0.0.0:9809",
            "--v=5",
        ],
        "env": [
            variable("ADDRESS", "/csi/csi.sock"),
            variable("DRIVER_REG_SOCK_PATH", format!("{PLUGIN}csi.sock")),
        ],
        "ports": [port("registrar-hz", 9809)],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "registrar-hz"}, "initialDelaySeconds": 30, "timeoutSeconds": 15, "periodSeconds": 90},
        "securityContext": confined(),
        "volumeMounts": [
            mount("plugin-dir", "/csi"),
            mount("registration-dir", "/registration"),
            mount("probe-dir", PLUGIN),
        ],
    })
}

fn liveness() -> Value {
    json!({
        "name": "liveness-probe",
        "image": LIVENESS_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["--csi-address=/csi/csi.sock"],
        "securityContext": confined(),
        "volumeMounts": [mount("plugin-dir", "/csi")],
    })
}
