//! The Deployment of the proxies, their Service and their disruption budget. Pure.

use serde_json::{Value as Json, json};

use crate::storage::EtcdStorage;

use super::apply::metadata;
use super::names::{CERTIFICATE, CLIENT_CA, CORE_CA, KEY, Names, PORT};
use super::settings::Settings;

/// Where the files of the proxy are, with the paths of etcdproxy-controller.
const CORE_CA_FOLDER: &str = "/etc/coreetcd-certs/ca";
const CORE_CLIENT_FOLDER: &str = "/etc/coreetcd-certs/client";
const CLIENT_CA_FOLDER: &str = "/etc/etcdproxy-certs/ca";
const SERVER_FOLDER: &str = "/etc/etcdproxy-certs/server";

/// The user of the proxy in its container.
const USER: u32 = 65532;
/// Files of Secrets are read by the group.
const MODE: u32 = 0o440;

/// The Service of an `EtcdStorage`.
pub(crate) fn service(storage: &EtcdStorage, names: &Names) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(storage, names, &names.workload()),
        "spec": {
            "selector": names.selector(),
            "ports": [{"name": "etcd", "protocol": "TCP", "port": PORT, "targetPort": "etcd"}],
        },
    })
}

/// The disruption budget: nodes are drained one proxy at a time.
pub(crate) fn budget(storage: &EtcdStorage, names: &Names) -> Json {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": metadata(storage, names, &names.workload()),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": names.selector()}},
    })
}

/// The Deployment. Nothing in its template changes with a certificate: proxies read their files again.
pub(crate) fn deployment(storage: &EtcdStorage, names: &Names, settings: &Settings) -> Json {
    let labels = names.labels();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": metadata(storage, names, &names.workload()),
        "spec": {
            "replicas": storage.spec.replicas,
            "selector": {"matchLabels": names.selector()},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod(storage, names, settings)},
        },
    })
}

fn pod(storage: &EtcdStorage, names: &Names, settings: &Settings) -> Json {
    let spread = |key: &str| {
        json!({
            "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": names.selector()},
        })
    };
    let mut pod = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread("topology.kubernetes.io/zone"), spread("kubernetes.io/hostname")],
        "containers": [container(storage, names, settings)],
        "volumes": [
            {"name": "core-ca", "configMap": {"name": settings.core_ca_config_map}},
            {"name": "core-client", "secret": {"secretName": settings.core_certs_secret, "defaultMode": MODE}},
            {"name": "client-ca", "configMap": {"name": names.client_ca()}},
            {"name": "server", "secret": {"secretName": names.server(), "defaultMode": MODE}},
        ],
    });
    if let Some(account) = &settings.proxy_service_account {
        pod["serviceAccountName"] = account.as_str().into();
    }
    pod
}

fn container(storage: &EtcdStorage, names: &Names, settings: &Settings) -> Json {
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path, "readOnly": true});
    // The listener opens when the core has answered and the tenant's keys are counted, so a connection is enough.
    let probe = |period: u32, timeout: u32| json!({"tcpSocket": {"port": "etcd"}, "periodSeconds": period, "timeoutSeconds": timeout});
    json!({
        "name": "etcdproxy",
        "image": settings.proxy_image,
        "command": ["slipway-etcd-storage"],
        "args": arguments(storage, names, settings),
        "ports": [{"name": "etcd", "protocol": "TCP", "containerPort": PORT}],
        "readinessProbe": probe(5, 5),
        "livenessProbe": probe(30, 10),
        "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            mount("core-ca", CORE_CA_FOLDER),
            mount("core-client", CORE_CLIENT_FOLDER),
            mount("client-ca", CLIENT_CA_FOLDER),
            mount("server", SERVER_FOLDER),
        ],
    })
}

fn arguments(storage: &EtcdStorage, names: &Names, settings: &Settings) -> Vec<String> {
    let mut arguments = vec![
        "proxy".to_owned(),
        format!("--tenant={}", names.tenant),
        format!("--endpoints={}", settings.core_urls.join(",")),
        format!("--listen-addr=0.0.0.0:{PORT}"),
        format!("--advertise-client-url={}", names.endpoint()),
        format!("--cacert={CORE_CA_FOLDER}/{CORE_CA}"),
        format!("--cert={CORE_CLIENT_FOLDER}/{CERTIFICATE}"),
        format!("--key={CORE_CLIENT_FOLDER}/{KEY}"),
        format!("--trusted-ca-file={CLIENT_CA_FOLDER}/{CLIENT_CA}"),
        format!("--cert-file={SERVER_FOLDER}/{CERTIFICATE}"),
        format!("--key-file={SERVER_FOLDER}/{KEY}"),
    ];
    if storage.spec.adopt {
        arguments.push("--adopt".to_owned());
    }
    let quota = storage.spec.quota.clone().unwrap_or_default();
    let limits = [
        ("max-keys", quota.keys),
        ("max-bytes", quota.bytes),
        ("max-requests-per-second", quota.requests_per_second.map(i64::from)),
    ];
    arguments.extend(limits.into_iter().filter_map(|(flag, limit)| Some(format!("--{flag}={}", limit?))));
    arguments
}
