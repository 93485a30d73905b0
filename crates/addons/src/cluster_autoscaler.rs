//! The cluster autoscaler: it adds workers for pods that find no place, and removes those that are not needed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use slipway_cluster_input::ClusterInput;

use crate::Facts;
use crate::object::{
    Family, control_plane_tolerations, control_planes_only, named, port, replicas, rule, spread, variable,
};
use crate::settings::{Settings, addon};

/// The name of the add-on.
pub(crate) const NAME: &str = "cluster-autoscaler";
const REPOSITORY: &str = "registry.k8s.io/autoscaling/cluster-autoscaler";
const PORT: u16 = 8085;
const READ: [&str; 3] = ["watch", "list", "get"];

pub(crate) fn objects(cluster: &ClusterInput, facts: &Facts) -> Vec<Value> {
    let settings = Settings::of(cluster, NAME);
    let family = Family::new([
        ("app.kubernetes.io/name", NAME),
        ("k8s-addon", "cluster-autoscaler.addons.k8s.io"),
        ("k8s-app", NAME),
    ]);
    let mut account = family.service_account(NAME);
    account["automountServiceAccountToken"] = true.into();
    let rules = json!([
        rule("", &["configmaps"], &["create"]),
        named("", &["configmaps"], &["cluster-autoscaler-status"], &["delete", "get", "update"]),
    ]);
    let ports = json!([{"name": "http", "port": PORT, "protocol": "TCP", "targetPort": PORT}]);
    let mut objects = vec![
        family.budget(NAME, json!({"maxUnavailable": 1, "selector": {"matchLabels": {"k8s-app": NAME}}})),
        account,
        family.cluster_role(NAME, cluster_rules()),
        family.cluster_binding(NAME, NAME, NAME),
        family.role(NAME, rules),
        family.binding(NAME, NAME, NAME),
        family.service(NAME, json!({"app.kubernetes.io/name": NAME}), ports),
        deployment(cluster, facts, &family),
    ];
    if settings.text("expander").as_deref() == Some("priority")
        && settings.flag("createPriorityExpanderConfig", true)
    {
        let mut configuration = family.object("v1", "ConfigMap", "cluster-autoscaler-priority-expander");
        configuration["data"] = json!({"priorities": priorities(settings, facts)});
        objects.push(configuration);
    }
    objects
}

fn cluster_rules() -> Value {
    let of_groups = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let core = [
        "namespaces",
        "pods",
        "services",
        "replicationcontrollers",
        "persistentvolumeclaims",
        "persistentvolumes",
    ];
    let storage = ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"];
    json!([
        rule("", &["events", "endpoints"], &["create", "patch"]),
        rule("", &["pods/eviction"], &["create"]),
        rule("", &["pods/status"], &["update"]),
        named("", &["endpoints"], &[NAME], &["get", "update"]),
        rule("", &["nodes"], &["watch", "list", "get", "update"]),
        rule("", &core, &READ),
        rule("batch", &["jobs", "cronjobs"], &READ),
        of_groups(&["batch", "extensions"], &["jobs"], &["get", "list", "patch", "watch"]),
        rule("extensions", &["replicasets", "daemonsets"], &READ),
        rule("policy", &["poddisruptionbudgets"], &["watch", "list"]),
        rule("apps", &["daemonsets", "replicasets", "statefulsets"], &READ),
        rule("storage.k8s.io", &storage, &READ),
        rule("", &["configmaps"], &READ),
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named("coordination.k8s.io", &["leases"], &[NAME], &["get", "update"]),
        rule("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceslices"], &READ),
    ])
}

/// The release that belongs to the cluster's own.
fn image(cluster: &ClusterInput) -> String {
    let version = match cluster.kubernetes_version.get().minor {
        ..=32 => "v1.32.7",
        33 => "v1.33.5",
        34 => "v1.34.4",
        35 => "v1.35.1",
        _ => "v1.36.0",
    };
    format!("{REPOSITORY}:{version}")
}

/// The groups by their priority, as the `priority` expander reads them.
fn priorities(settings: Settings<'_>, facts: &Facts) -> String {
    let mut by_priority: BTreeMap<String, Vec<String>> = BTreeMap::new();
    match settings.get("customPriorityExpanderConfig").and_then(Value::as_object) {
        Some(given) => {
            for (priority, groups) in given {
                let groups =
                    groups.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
                by_priority.insert(priority.clone(), groups.collect());
            }
        }
        None => {
            for group in &facts.node_groups {
                let Some(priority) = group.priority else { continue };
                by_priority.entry(priority.to_string()).or_default().push(group.name.clone());
            }
        }
    }
    let mut text = String::new();
    for (priority, groups) in by_priority {
        let _ = writeln!(text, "{priority}:");
        for group in groups {
            let _ = writeln!(text, "- {group}");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn command(settings: Settings<'_>, facts: &Facts) -> Vec<String> {
    let option =
        |name: &str, key: &str, default: &str| format!("--{name}={}", settings.text_or(key, default));
    let mut command = vec![
        "./cluster-autoscaler".to_owned(),
        option("balance-similar-node-groups", "balanceSimilarNodeGroups", "false"),
        option("emit-per-nodegroup-metrics", "emitPerNodegroupMetrics", "false"),
        "--cloud-provider=aws".to_owned(),
        option("aws-use-static-instance-list", "awsUseStaticInstanceList", "false"),
        option("expander", "expander", "random"),
    ];
    let groups = facts.node_groups.iter();
    command.extend(groups.map(|group| format!("--nodes={}:{}:{}", group.minimum, group.maximum, group.name)));
    command.extend([
        option("ignore-daemonsets-utilization", "ignoreDaemonSetsUtilization", "false"),
        option("scale-down-utilization-threshold", "scaleDownUtilizationThreshold", "0.5"),
        option("skip-nodes-with-custom-controller-pods", "skipNodesWithCustomControllerPods", "true"),
        option("skip-nodes-with-local-storage", "skipNodesWithLocalStorage", "true"),
        option("skip-nodes-with-system-pods", "skipNodesWithSystemPods", "true"),
        option("scale-down-delay-after-add", "scaleDownDelayAfterAdd", "10m0s"),
        option("scale-down-unneeded-time", "scaleDownUnneededTime", "10m0s"),
        option("scale-down-unready-time", "scaleDownUnreadyTime", "20m0s"),
        option("new-pod-scale-up-delay", "newPodScaleUpDelay", "0s"),
        option("max-node-provision-time", "maxNodeProvisionTime", "15m0s"),
        option("cordon-node-before-terminating", "cordonNodeBeforeTerminating", "true"),
        "--logtostderr=true".to_owned(),
        "--stderrthreshold=info".to_owned(),
        "--v=4".to_owned(),
    ]);
    command
}

fn deployment(cluster: &ClusterInput, facts: &Facts, family: &Family) -> Value {
    let settings = Settings::of(cluster, NAME);
    let container = json!({
        "name": NAME,
        "image": settings.text("image").unwrap_or_else(|| image(cluster)),
        "imagePullPolicy": "IfNotPresent",
        "command": command(settings, facts),
        "env": [variable("AWS_REGION", facts.region.as_str())],
        "ports": [port("http", PORT)],
        "livenessProbe": {
            "httpGet": {"path": "/health-check", "port": "http", "scheme": "HTTP"},
            "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
        },
        "resources": settings.resources("100m", "300Mi"),
    });
    let mut labels = family.labels();
    labels["app"] = NAME.into();
    let selected = json!({"app": NAME});
    let mut annotations = settings.pod_annotations();
    annotations.insert("prometheus.io/port".to_owned(), PORT.to_string().into());
    annotations.insert("prometheus.io/scrape".to_owned(), "true".into());
    let mut pod = json!({
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": NAME,
        "dnsPolicy": "ClusterFirst",
        "topologySpreadConstraints": spread(&selected, true),
        "containers": [container],
    });
    if facts.has_roles() {
        let not_spot = json!({"matchExpressions": [{"key": "node-role.kubernetes.io/spot-worker", "operator": "DoesNotExist"}]});
        pod["affinity"] = json!({"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": not_spot}],
        }});
    } else {
        pod["affinity"] = control_planes_only();
        pod["hostNetwork"] = true.into();
        pod["tolerations"] = control_plane_tolerations();
    }
    let mut object = family.object("apps/v1", "Deployment", NAME);
    object["spec"] = json!({
        "replicas": addon(cluster, NAME).and_then(|addon| addon.replicas).unwrap_or_else(|| replicas(cluster)),
        "selector": {"matchLabels": selected},
        "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
    });
    if !facts.has_roles() {
        // Two of them cannot share the ports of one machine.
        object["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}});
    }
    object
}
