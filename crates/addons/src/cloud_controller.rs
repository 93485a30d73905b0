//! The AWS cloud controller manager: it gives nodes their addresses, zones and provider ids, and makes load balancers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_cluster_input::{ClusterInput, ComponentName};

use crate::Facts;
use crate::install::is_ipv6_only;
use crate::object::{Family, control_planes_only, named, rule, variable};

/// The name of the add-on. No spec turns it off: without it no node of a cloud becomes ready.
pub(crate) const NAME: &str = "aws-cloud-controller-manager";
const IMAGE: &str = "registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.1";
/// The file with the settings of the cloud, on control planes.
const CONFIGURATION: &str = "/etc/kubernetes/cloud.config";
const ROLE: &str = "system:cloud-controller-manager";

pub(crate) fn objects(cluster: &ClusterInput, _: &Facts) -> Vec<Value> {
    let family = Family::new([("k8s-app", NAME)]);
    let mut bindings = [
        family.binding(
            "cloud-controller-manager:apiserver-authentication-reader",
            "extension-apiserver-authentication-reader",
            NAME,
        ),
        family.cluster_binding(ROLE, ROLE, NAME),
    ];
    for binding in &mut bindings {
        binding["subjects"][0]["apiGroup"] = "".into();
    }
    let mut objects = vec![family.service_account(NAME), family.cluster_role(ROLE, rules())];
    objects.extend(bindings);
    objects.push(daemon_set(cluster, &family));
    objects
}

fn rules() -> Value {
    let controllers = ["node-controller", "service-controller", "route-controller"];
    json!([
        rule("", &["events"], &["create", "patch", "update"]),
        rule("", &["nodes"], &["*"]),
        rule("", &["nodes/status"], &["patch"]),
        rule("", &["services"], &["list", "patch", "update", "watch"]),
        rule("", &["services/status"], &["list", "patch", "update", "watch"]),
        rule("", &["serviceaccounts"], &["create", "get"]),
        rule("", &["persistentvolumes"], &["get", "list", "update", "watch"]),
        rule("", &["endpoints"], &["create", "get", "list", "watch", "update"]),
        rule("coordination.k8s.io", &["leases"], &["create", "get", "list", "watch", "update"]),
        rule("", &["secrets"], &["list", "watch"]),
        named("", &["serviceaccounts/token"], &controllers, &["create"]),
    ])
}

/// The flags: those of the spec, and over them those that follow from the cluster.
fn arguments(cluster: &ClusterInput) -> Vec<String> {
    let component = cluster.component(ComponentName::CloudController);
    let mut flags: BTreeMap<String, String> = BTreeMap::from([
        ("cloud-provider".to_owned(), "aws".to_owned()),
        ("use-service-account-credentials".to_owned(), "true".to_owned()),
    ]);
    flags.extend(component.extra_args.clone());
    // The controller always elects a leader, with its default timings, whatever the spec says.
    flags.retain(|name, _| !name.starts_with("leader-elect"));
    flags.insert("leader-elect".to_owned(), "true".to_owned());
    flags.insert("v".to_owned(), component.log_level.unwrap_or(2).to_string());
    flags.insert("cluster-name".to_owned(), cluster.name.clone());
    flags.insert("cloud-config".to_owned(), CONFIGURATION.to_owned());
    // IPv6 addresses of pods come from the machine's network, not from a range of the cluster.
    flags.insert("allocate-node-cidrs".to_owned(), (!is_ipv6_only(cluster)).to_string());
    if !is_ipv6_only(cluster)
        && let Some(pods) = pod_range(cluster)
    {
        flags.insert("cluster-cidr".to_owned(), pods);
    }
    let routes = cluster.network.cni.name == "kubenet";
    flags.insert("configure-cloud-routes".to_owned(), routes.to_string());
    if !component.feature_gates.is_empty() {
        let gates: Vec<String> =
            component.feature_gates.iter().map(|(name, is_on)| format!("{name}={is_on}")).collect();
        flags.insert("feature-gates".to_owned(), gates.join(","));
    }
    flags.into_iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

/// The range of pod addresses. Where pods take addresses of the machines' network, it is what kOps passes then: the upper
/// half of the range whose lowest eighth is the services'.
fn pod_range(cluster: &ClusterInput) -> Option<String> {
    if let Some(pods) = cluster.network.pod_cidrs.first() {
        return Some(pods.to_string());
    }
    let services = cluster.network.service_cidrs.first()?.net();
    let whole = services.supernet()?.supernet()?.supernet()?;
    whole.subnets(whole.prefix_len() + 1).ok()?.last().map(|half| half.to_string())
}

fn daemon_set(cluster: &ClusterInput, family: &Family) -> Value {
    let component = cluster.component(ComponentName::CloudController);
    let resources = &component.resources;
    let mut requests = json!({"cpu": resources.cpu_request.as_ref().map_or("200m", |cpu| cpu.as_str())});
    let mut limits = json!({});
    if let Some(memory) = &resources.memory_request {
        requests["memory"] = memory.as_str().into();
    }
    for (name, limit) in [("cpu", &resources.cpu_limit), ("memory", &resources.memory_limit)] {
        if let Some(limit) = limit {
            limits[name] = limit.as_str().into();
        }
    }
    // The API server of the same machine: addresses of services are served by pods that wait for this controller.
    let mut environment = vec![variable("KUBERNETES_SERVICE_HOST", "127.0.0.1")];
    environment.extend(component.environment.iter().map(|(name, value)| variable(name, value.as_str())));
    let mut container = json!({
        "name": NAME,
        "image": component.image.unwrap_or_else(|| IMAGE.to_owned()),
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(cluster),
        "env": environment,
        "resources": {"requests": requests},
        "volumeMounts": [{"name": "cloudconfig", "mountPath": CONFIGURATION, "readOnly": true}],
    });
    if limits.as_object().is_some_and(|limits| !limits.is_empty()) {
        container["resources"]["limits"] = limits;
    }
    let mut object = family.object("apps/v1", "DaemonSet", NAME);
    object["spec"] = json!({
        "selector": {"matchLabels": family.labels()},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {
            "metadata": {"labels": family.labels()},
            "spec": {
                "affinity": control_planes_only(),
                "tolerations": [{"operator": "Exists"}],
                "serviceAccountName": NAME,
                "hostNetwork": true,
                "priorityClassName": "system-cluster-critical",
                "containers": [container],
                "volumes": [{"name": "cloudconfig", "hostPath": {"path": CONFIGURATION, "type": ""}}],
            },
        },
    });
    object
}
