//! The form that all four pods share.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::probe;
use crate::shape;

/// The parts of a pod that differ between components.
pub(super) struct Parts<'a> {
    pub name: &'a str,
    pub image: String,
    pub command: Vec<String>,
    pub annotation: Option<(&'a str, String)>,
    pub requests: Value,
    pub port: u16,
    pub liveness: Value,
    pub readiness: Option<Value>,
    pub startup: Value,
    pub environment: Vec<Value>,
    pub mounts: Vec<Value>,
    pub volumes: Vec<Value>,
}

/// A pod of the control plane.
pub(super) fn pod(parts: Parts<'_>) -> Value {
    let mut container = Map::new();
    let mut set = |key: &str, value: Value| container.insert(key.to_owned(), value);
    let command: Vec<String> = std::iter::once(parts.name.to_owned()).chain(parts.command).collect();
    set("command", command.into());
    if !parts.environment.is_empty() {
        set("env", shape::environment(&parts.environment));
    }
    set("image", parts.image.into());
    set("imagePullPolicy", "IfNotPresent".into());
    set("livenessProbe", parts.liveness);
    set("name", parts.name.into());
    set("ports", json!([{"containerPort": parts.port, "name": probe::PORT, "protocol": "TCP"}]));
    if let Some(readiness) = parts.readiness {
        set("readinessProbe", readiness);
    }
    set("resources", json!({"requests": parts.requests}));
    set("startupProbe", parts.startup);
    set("volumeMounts", Value::Array(parts.mounts));
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {"component": parts.name, "tier": "control-plane"},
            "name": parts.name,
            "namespace": "kube-system",
        },
        "spec": {
            "containers": [container],
            "hostNetwork": true,
            "priority": 2_000_001_000,
            "priorityClassName": "system-node-critical",
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": parts.volumes,
        },
        "status": {},
    });
    if let Some((key, value)) = parts.annotation {
        let annotations: Map<String, Value> = [(key.to_owned(), value.into())].into_iter().collect();
        pod["metadata"]["annotations"] = annotations.into();
    }
    pod
}

/// The variables of a container, by name: the host's proxy settings, and the user's over them.
pub(super) fn environment(proxies: &BTreeMap<String, String>, extra: &[Value]) -> Vec<Value> {
    let mut variables: BTreeMap<String, Value> = proxies
        .iter()
        .filter(|(name, value)| name.to_lowercase().ends_with("_proxy") && !value.is_empty())
        .map(|(name, value)| (name.clone(), json!({"name": name, "value": value})))
        .collect();
    for variable in extra {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        variables.insert(name.to_owned(), variable.clone());
    }
    variables.into_values().collect()
}
