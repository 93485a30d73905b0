//! CoreDNS: names of services and pods, with as many replicas as the cluster's size asks for.

use serde_json::{Value, json};
use slipway_cluster_input::{ClusterInput, DnsKind};

use crate::install::is_ipv6_only;
use crate::object::{Family, rule, spread};
use crate::settings::{Settings, addon};

/// The name of the add-on.
pub(crate) const NAME: &str = "coredns";
const AUTOSCALER: &str = "coredns-autoscaler";
const IMAGE: &str = "registry.k8s.io/coredns/coredns:v1.14.2";
const AUTOSCALER_IMAGE: &str = "registry.k8s.io/cpa/cluster-proportional-autoscaler:v1.9.0";
/// The resolver of networks on AWS, for machines that have IPv6 addresses only.
const IPV6_RESOLVER: &str = "fd00:ec2::253";
/// The names of the control plane's machines, where no DNS records have them.
const HOSTS: &str = "/rootfs/etc/hosts";

/// Whether the cluster asks for kube-dns, the predecessor.
pub(crate) fn is_replaced(cluster: &ClusterInput) -> bool {
    Settings::of(cluster, NAME).text("provider").as_deref() == Some("KubeDNS")
}

pub(crate) fn objects(cluster: &ClusterInput) -> Vec<Value> {
    let family = Family::new([("k8s-addon", "coredns.addons.k8s.io")]);
    let settings = Settings::of(cluster, NAME);
    let fixed = addon(cluster, NAME).and_then(|addon| addon.replicas);
    let rules = json!([
        rule("", &["endpoints", "services", "pods", "namespaces"], &["list", "watch"]),
        rule("discovery.k8s.io", &["endpointslices"], &["list", "watch"]),
    ]);
    let mut configuration = family.object("v1", "ConfigMap", NAME);
    configuration["data"] = json!({"Corefile": corefile(cluster, settings)});
    let budget = json!({
        "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
        "maxUnavailable": "33%", "unhealthyPodEvictionPolicy": "AlwaysAllow",
    });
    let mut objects = vec![
        family.service_account(NAME),
        family.cluster_role("system:coredns", rules),
        family.cluster_binding("system:coredns", "system:coredns", NAME),
        configuration,
        deployment(cluster, settings, fixed),
        service(cluster),
        family.budget("kube-dns", budget),
    ];
    // With a fixed number of replicas there is no autoscaler.
    if fixed.is_none() {
        objects.extend(autoscaler(&family, settings));
    }
    objects
}

/// The domain of the names that machines write into their own file of hosts.
fn own_domain(cluster: &ClusterInput) -> Option<&str> {
    (cluster.control_plane.dns.kind == DnsKind::None).then_some(cluster.name.as_str())
}

fn corefile(cluster: &ClusterInput, settings: Settings<'_>) -> String {
    if let Some(own) = settings.text("externalCoreFile") {
        return own;
    }
    let mut lines = vec![".:53 {", "    errors", "    health {", "      lameduck 10s", "    }", "    ready"];
    let kubernetes = format!("    kubernetes {}. in-addr.arpa ip6.arpa {{", cluster.network.cluster_domain);
    lines.extend([
        &*kubernetes,
        "      pods insecure",
        "      fallthrough in-addr.arpa ip6.arpa",
        "      ttl 30",
        "    }",
    ]);
    let hosts = own_domain(cluster).map(|domain| format!("    hosts {HOSTS} {domain} {{"));
    if let Some(hosts) = &hosts {
        lines.extend([hosts, "      ttl 30", "      fallthrough", "    }"]);
    }
    let given = settings.texts("upstreamNameservers").join(" ");
    let upstream = match given.as_str() {
        "" if is_ipv6_only(cluster) => IPV6_RESOLVER,
        "" => "/etc/resolv.conf",
        given => given,
    };
    let forward = format!("    forward . {upstream} {{");
    lines.extend(["    prometheus :9153", &forward, "      max_concurrent 1000", "    }"]);
    lines.extend(["    cache 30", "    loop", "    reload", "    loadbalance"]);
    if is_ipv6_only(cluster) {
        lines.push("    dns64");
    }
    lines.push("}");
    lines.join("\n")
}

/// Which nodes the pods tolerate.
fn tolerations(settings: Settings<'_>) -> Value {
    let given =
        settings.get("tolerations").filter(|given| given.as_array().is_some_and(|list| !list.is_empty()));
    given.cloned().unwrap_or_else(|| json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}]))
}

fn deployment(cluster: &ClusterInput, settings: Settings<'_>, replicas: Option<u32>) -> Value {
    let family = labelled();
    let labels = json!({"k8s-app": "kube-dns"});
    let port = |name: &str, number: u16, protocol: &str| json!({"name": name, "containerPort": number, "protocol": protocol});
    let mut mounts = vec![json!({"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": true})];
    let mut volumes = vec![json!({"name": "config-volume", "configMap": {"name": NAME}})];
    if own_domain(cluster).is_some() {
        mounts.push(json!({"name": "etc-hosts", "mountPath": HOSTS, "readOnly": true}));
        volumes.push(json!({"name": "etc-hosts", "hostPath": {"path": "/etc/hosts", "type": "File"}}));
    }
    let container = json!({
        "name": NAME,
        "image": settings.text_or("coreDNSImage", IMAGE),
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
        "resources": {
            "limits": {"memory": settings.text_or("memoryLimit", "170Mi")},
            "requests": {"cpu": settings.text_or("cpuRequest", "100m"), "memory": settings.text_or("memoryRequest", "70Mi")},
        },
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": 8080, "scheme": "HTTP"},
            "initialDelaySeconds": 60, "timeoutSeconds": 5, "successThreshold": 1, "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181, "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    });
    let mut pod = json!({
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": NAME,
        "dnsPolicy": "Default",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": tolerations(settings),
        "topologySpreadConstraints": spread(&labels, false),
        "containers": [container],
        "volumes": volumes,
    });
    if let Some(affinity) = settings.get("affinity") {
        pod["affinity"] = affinity.clone();
    }
    let mut object = family.object("apps/v1", "Deployment", NAME);
    object["spec"] = json!({
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "10%"}},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = replicas.into();
    }
    let annotations = settings.pod_annotations();
    if !annotations.is_empty() {
        object["spec"]["template"]["metadata"]["annotations"] = annotations.into();
    }
    object
}

fn labelled() -> Family {
    Family::new([
        ("k8s-addon", "coredns.addons.k8s.io"),
        ("k8s-app", "kube-dns"),
        ("kubernetes.io/cluster-service", "true"),
        ("kubernetes.io/name", "CoreDNS"),
    ])
}

fn service(cluster: &ClusterInput) -> Value {
    let port =
        |name: &str, number: u16, protocol: &str| json!({"name": name, "port": number, "protocol": protocol});
    let ports = json!([port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")]);
    let mut object = labelled().service("kube-dns", json!({"k8s-app": "kube-dns"}), ports);
    object["metadata"]["annotations"] = json!({"prometheus.io/port": "9153", "prometheus.io/scrape": "true"});
    object["spec"]["clusterIP"] = cluster.network.dns_address.to_string().into();
    object
}

/// The autoscaler: it adds replicas as the cluster grows, with two at least where there are two nodes.
fn autoscaler(family: &Family, settings: Settings<'_>) -> Vec<Value> {
    let rules = json!([
        rule("", &["nodes"], &["list", "watch"]),
        rule("", &["replicationcontrollers/scale"], &["get", "update"]),
        json!({
            "apiGroups": ["extensions", "apps"], "resources": ["deployments/scale", "replicasets/scale"],
            "verbs": ["get", "update"],
        }),
        rule("", &["configmaps"], &["get", "create"]),
    ]);
    let labels = json!({"k8s-app": AUTOSCALER});
    let parameters =
        json!({"linear": {"coresPerReplica": 256, "nodesPerReplica": 16, "preventSinglePointFailure": true}});
    let container = json!({
        "name": "autoscaler",
        "image": settings.text_or("cpaImage", AUTOSCALER_IMAGE),
        "resources": {"requests": {"cpu": "20m", "memory": "10Mi"}},
        "command": [
            "/cluster-proportional-autoscaler",
            "--namespace=kube-system",
            format!("--configmap={AUTOSCALER}"),
            format!("--target=Deployment/{NAME}"),
            format!("--default-params={parameters}"),
            "--logtostderr=true",
            "--v=2",
        ],
    });
    let mut pod = json!({
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": AUTOSCALER,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": tolerations(settings),
        "containers": [container],
    });
    if let Some(affinity) = settings.get("affinity") {
        pod["affinity"] = affinity.clone();
    }
    let mut deployment = family.object("apps/v1", "Deployment", AUTOSCALER);
    deployment["metadata"]["labels"]["k8s-app"] = AUTOSCALER.into();
    deployment["spec"] = json!({
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    vec![
        family.service_account(AUTOSCALER),
        family.cluster_role(AUTOSCALER, rules),
        family.cluster_binding(AUTOSCALER, AUTOSCALER, AUTOSCALER),
        deployment,
    ]
}
