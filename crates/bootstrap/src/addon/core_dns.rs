use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::objects::{SYSTEM, config_map, metadata, rbac};
use crate::patch::{PatchError, Patches, Target};
use crate::shape::DEPLOYMENT;
use crate::version::Images;

/// CoreDNS: its rights, its configuration, its Deployment and the Service with the tenth address.
///
/// # Errors
/// When a patch of the Deployment does not fit.
pub fn core_dns(configuration: &Configuration, patches: &Patches) -> Result<Vec<Value>, PatchError> {
    let networking = &configuration.cluster.networking;
    let deployment =
        patches.apply(Target::CoreDns, deployment(&Images::of(&configuration.cluster).core_dns))?;
    let rules = json!([
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]);
    let subject = rbac::service_account_subject("coredns");
    let mut objects = vec![
        config_map(SYSTEM, "coredns", vec![("Corefile", corefile(&networking.dns_domain))], false),
        rbac::cluster_role("system:coredns", rules),
        rbac::cluster_binding("system:coredns", "system:coredns", subject),
        rbac::service_account("coredns"),
        DEPLOYMENT.encode(Some(&deployment)),
    ];
    if let Some(address) = networking.dns_service_address() {
        objects.push(service(&address.to_string()));
    }
    Ok(objects)
}

fn corefile(domain: &str) -> String {
    format!(
        ".:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {domain}
       disable denial {domain}
    }}
    loop
    reload
    loadbalance
}}
"
    )
}

fn deployment(image: &str) -> Value {
    let labels = json!({"k8s-app": "kube-dns"});
    let mut metadata = metadata(Some(SYSTEM), "coredns");
    metadata["labels"] = labels.clone();
    let port = |name: &str, number: u16, protocol: &str| json!({"containerPort": number, "name": name, "protocol": protocol});
    let container = json!({
        "name": "coredns",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": true}],
        "ports": [
            port("dns", 53, "UDP"),
            port("dns-tcp", 53, "TCP"),
            port("metrics", 9153, "TCP"),
            port("liveness-probe", 8080, "TCP"),
            port("readiness-probe", 8181, "TCP"),
        ],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60, "timeoutSeconds": 5, "successThreshold": 1, "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        },
    });
    // Two of them on two nodes, where there are two.
    let apart = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]},
            "topologyKey": "kubernetes.io/hostname",
        },
    }]}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "priorityClassName": "system-cluster-critical",
                    "serviceAccountName": "coredns",
                    "affinity": apart,
                    "tolerations": [
                        {"key": "CriticalAddonsOnly", "operator": "Exists"},
                        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                    ],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "containers": [container],
                    "dnsPolicy": "Default",
                    "volumes": [{
                        "name": "config-volume",
                        "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]},
                    }],
                },
            },
        },
    })
}

fn service(address: &str) -> Value {
    let mut metadata = metadata(Some(SYSTEM), "kube-dns");
    metadata["annotations"] = json!({"prometheus.io/port": "9153", "prometheus.io/scrape": "true"});
    metadata["labels"] = json!({
        "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS",
    });
    let port = |name: &str, number: u16, protocol: &str| json!({"name": name, "port": number, "protocol": protocol, "targetPort": number});
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {
            "selector": {"k8s-app": "kube-dns"},
            "clusterIP": address,
            "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
        },
    })
}
