//! The node termination handler: it drains nodes whose machines are about to be taken away.
//!
//! With a queue it is one Deployment that hears of every machine. Without one it is a DaemonSet that asks the metadata of
//! its own machine.

use serde_json::{Value, json};
use slipway_cluster_input::ClusterInput;

use crate::Facts;
use crate::object::{
    Family, control_plane_tolerations, control_planes_only, field, port, replicas, rule, spread, variable,
};
use crate::settings::{Settings, addon};

/// The name of the add-on.
pub(crate) const NAME: &str = "node-termination-handler";
const OBJECT: &str = "aws-node-termination-handler";
const REPOSITORY: &str = "public.ecr.aws/aws-ec2/aws-node-termination-handler";
const VERSION: &str = "v1.25.5";
/// The tag of machines that it looks after.
const MANAGED_TAG: &str = "aws-node-termination-handler/managed";

pub(crate) fn objects(cluster: &ClusterInput, facts: &Facts) -> Vec<Value> {
    let version = version(cluster);
    let family = Family::new([
        ("app.kubernetes.io/name", OBJECT),
        ("app.kubernetes.io/instance", OBJECT),
        ("app.kubernetes.io/part-of", OBJECT),
        ("app.kubernetes.io/version", &version),
        ("k8s-app", OBJECT),
    ]);
    let rules = json!([
        rule("", &["nodes"], &["get", "list", "patch", "update"]),
        rule("", &["pods"], &["list", "get"]),
        rule("", &["pods/eviction"], &["create"]),
        rule("extensions", &["daemonsets"], &["get"]),
        rule("apps", &["daemonsets"], &["get"]),
        rule("", &["events"], &["create", "patch"]),
    ]);
    let mut objects = vec![
        family.service_account(OBJECT),
        family.cluster_role(OBJECT, rules),
        family.cluster_binding(OBJECT, OBJECT, OBJECT),
    ];
    match &facts.termination_queue {
        Some(queue) => {
            objects.push(deployment(cluster, facts, &family, queue));
            objects.push(
                family.budget(OBJECT, json!({"maxUnavailable": 1, "selector": {"matchLabels": selected()}})),
            );
        }
        None => objects.push(daemon_set(cluster, &family)),
    }
    objects
}

fn version(cluster: &ClusterInput) -> String {
    addon(cluster, NAME).and_then(|addon| addon.version.clone()).unwrap_or_else(|| VERSION.to_owned())
}

/// The labels of the pods of the Deployment.
fn selected() -> Value {
    json!({
        "app.kubernetes.io/name": OBJECT, "app.kubernetes.io/instance": OBJECT, "kops.k8s.io/nth-mode": "sqs",
    })
}

/// The environment of both forms.
fn environment(settings: Settings<'_>, probes: bool) -> Vec<Value> {
    let prometheus = settings.flag("prometheusEnable", settings.flag("enablePrometheusMetrics", false));
    let setting = |name: &str, key: &str, default: &str| variable(name, settings.text_or(key, default));
    let mut environment = vec![
        field("NODE_NAME", "spec.nodeName"),
        field("POD_NAME", "metadata.name"),
        field("NAMESPACE", "metadata.namespace"),
        variable("ENABLE_PROBES_SERVER", probes.to_string()),
        variable("PROBES_SERVER_PORT", "8080"),
        variable("PROBES_SERVER_ENDPOINT", "/healthz"),
        variable("LOG_LEVEL", "info"),
        variable("JSON_LOGGING", "true"),
        variable("LOG_FORMAT_VERSION", "2"),
        variable("ENABLE_PROMETHEUS_SERVER", prometheus.to_string()),
        variable("PROMETHEUS_SERVER_PORT", "9092"),
        variable("DRY_RUN", "false"),
        variable("CORDON_ONLY", "false"),
        setting("TAINT_NODE", "taintNode", "false"),
        setting("EXCLUDE_FROM_LOAD_BALANCERS", "excludeFromLoadBalancers", "true"),
        variable("DELETE_LOCAL_DATA", "true"),
        variable("IGNORE_DAEMON_SETS", "true"),
        setting("POD_TERMINATION_GRACE_PERIOD", "podTerminationGracePeriod", "-1"),
        variable("NODE_TERMINATION_GRACE_PERIOD", "120"),
        variable("EMIT_KUBERNETES_EVENTS", "true"),
        setting("ENABLE_OUT_OF_SERVICE_TAINT", "enableOutOfServiceTaint", "false"),
    ];
    for (name, key) in [("WEBHOOK_URL", "webhookURL"), ("WEBHOOK_TEMPLATE", "webhookTemplate")] {
        environment.extend(settings.text(key).map(|value| variable(name, value)));
    }
    environment
}

fn container(cluster: &ClusterInput, environment: Vec<Value>) -> Value {
    json!({
        "name": OBJECT,
        "image": format!("{REPOSITORY}:{}", version(cluster)),
        "imagePullPolicy": "IfNotPresent",
        "env": environment,
        "resources": Settings::of(cluster, NAME).resources("50m", "64Mi"),
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000,
        },
    })
}

fn deployment(cluster: &ClusterInput, facts: &Facts, family: &Family, queue: &str) -> Value {
    let settings = Settings::of(cluster, NAME);
    let mut environment = environment(settings, true);
    environment.extend([
        variable("CHECK_TAG_BEFORE_DRAINING", "true"),
        variable("MANAGED_TAG", settings.text_or("managedASGTag", MANAGED_TAG)),
        variable("USE_PROVIDER_ID", "true"),
        variable("COMPLETE_LIFECYCLE_ACTION_DELAY_SECONDS", "-1"),
        variable("ENABLE_SQS_TERMINATION_DRAINING", "true"),
        variable("QUEUE_URL", queue),
        variable("DELETE_SQS_MSG_IF_NODE_NOT_FOUND", settings.text_or("deleteSQSMsgIfNodeNotFound", "false")),
        variable("SQS_MSG_VISIBILITY_TIMEOUT_SEC", "20"),
        variable("HEARTBEAT_INTERVAL", "-1"),
        variable("HEARTBEAT_UNTIL", "-1"),
        variable("WORKERS", "10"),
    ]);
    let mut container = container(cluster, environment);
    container["ports"] = json!([port("liveness-probe", 8080), port("metrics", 9092)]);
    container["livenessProbe"] =
        json!({"httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 5, "periodSeconds": 5});
    let labels = json!({
        "app.kubernetes.io/name": OBJECT, "app.kubernetes.io/instance": OBJECT, "kubernetes.io/os": "linux",
    });
    let mut own = labels.clone();
    own["app.kubernetes.io/component"] = "deployment".into();
    own["k8s-app"] = OBJECT.into();
    own["kops.k8s.io/nth-mode"] = "sqs".into();
    let mut pod = json!({
        "serviceAccountName": OBJECT,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"fsGroup": 1000},
        "topologySpreadConstraints": spread(&selected(), true),
        "containers": [container],
    });
    if !facts.has_roles() {
        pod["affinity"] = control_planes_only();
        pod["tolerations"] = control_plane_tolerations();
        pod["hostNetwork"] = true.into();
    }
    let mut object = family.object("apps/v1", "Deployment", OBJECT);
    object["spec"] = json!({
        "replicas": addon(cluster, NAME).and_then(|addon| addon.replicas).unwrap_or_else(|| replicas(cluster)),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": own}, "spec": pod},
    });
    object
}

fn daemon_set(cluster: &ClusterInput, family: &Family) -> Value {
    let settings = Settings::of(cluster, NAME);
    let setting = |name: &str, key: &str, default: &str| variable(name, settings.text_or(key, default));
    let mut environment = environment(settings, false);
    environment.extend([
        variable("METADATA_TRIES", "3"),
        setting("ENABLE_SPOT_INTERRUPTION_DRAINING", "enableSpotInterruptionDraining", "true"),
        setting("ENABLE_SCHEDULED_EVENT_DRAINING", "enableScheduledEventDraining", "true"),
        setting("ENABLE_REBALANCE_MONITORING", "enableRebalanceMonitoring", "false"),
        setting("ENABLE_REBALANCE_DRAINING", "enableRebalanceDraining", "false"),
        variable("ENABLE_SQS_TERMINATION_DRAINING", "false"),
        variable("UPTIME_FROM_FILE", "/proc/uptime"),
    ]);
    let mut container = container(cluster, environment);
    container["volumeMounts"] = json!([{"name": "uptime", "mountPath": "/proc/uptime", "readOnly": true}]);
    let labels = json!({
        "app.kubernetes.io/name": OBJECT, "app.kubernetes.io/instance": OBJECT, "kubernetes.io/os": "linux",
    });
    let mut own = labels.clone();
    own["app.kubernetes.io/component"] = "daemonset".into();
    own["k8s-app"] = OBJECT.into();
    let mut object = family.object("apps/v1", "DaemonSet", OBJECT);
    object["spec"] = json!({
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": own},
            "spec": {
                "serviceAccountName": OBJECT,
                "priorityClassName": "system-node-critical",
                "securityContext": {"fsGroup": 1000},
                "hostNetwork": true,
                "dnsPolicy": "ClusterFirstWithHostNet",
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "tolerations": [{"operator": "Exists"}],
                "containers": [container],
                "volumes": [{"name": "uptime", "hostPath": {"path": "/proc/uptime"}}],
            },
        },
    });
    object
}
