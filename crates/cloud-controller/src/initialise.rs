//! Initialisation of a node from its instance: provider id, labels, and the removal of the taint.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::{Node, Taint};
use slipway_resource::provider::Instance;

/// The taint of a node that no cloud controller has initialised.
pub const UNINITIALISED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The labels of the type, the zone and the region of an instance: the ones of today, and their older names.
const INSTANCE_TYPE: [&str; 2] = ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];
const ZONE: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const REGION: [&str; 2] = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

/// Whether a node waits for being initialised.
#[must_use]
pub fn is_needed(node: &Node) -> bool {
    taints(node).iter().any(|taint| taint.key == UNINITIALISED)
}

/// The merge patch that initialises a node. It applies to the node as it was read only: it has its resource version.
#[must_use]
pub fn patch(node: &Node, instance: &Instance) -> Json {
    let taints: Vec<&Taint> = taints(node).iter().filter(|taint| taint.key != UNINITIALISED).collect();
    let mut spec = json!({ "taints": taints });
    let has_id =
        node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).is_some_and(|id| !id.is_empty());
    if !has_id {
        spec["providerID"] = instance.provider_id.clone().into();
    }
    json!({
        "metadata": { "resourceVersion": node.metadata.resource_version, "labels": labels(node, instance) },
        "spec": spec,
    })
}

/// The labels to set. Type, zone and region follow the instance; further labels of the provider keep off the names of
/// Kubernetes, and leave alone what the node has.
fn labels(node: &Node, instance: &Instance) -> BTreeMap<String, String> {
    let existing = node.metadata.labels.clone().unwrap_or_default();
    let is_free = |key: &str| !is_of_kubernetes(key) && !existing.contains_key(key);
    let mut labels: BTreeMap<String, String> = instance
        .labels
        .iter()
        .filter(|(key, _)| is_free(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (names, value) in
        [(INSTANCE_TYPE, &instance.instance_type), (ZONE, &instance.zone), (REGION, &instance.region)]
    {
        if let Some(value) = value {
            labels.extend(names.map(|name| (name.to_owned(), value.clone())));
        }
    }
    labels
}

/// Whether the prefix of a label is `kubernetes.io`, `k8s.io`, or one below them.
fn is_of_kubernetes(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"].iter().any(|domain| {
        prefix.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

/// The taints of a node.
pub(crate) fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: Json) -> Node {
        serde_json::from_value(text).unwrap()
    }

    fn instance() -> Instance {
        Instance {
            provider_id: "sim:///mach-000001".to_owned(),
            shutdown: false,
            addresses: Vec::new(),
            instance_type: Some("large".to_owned()),
            zone: Some("a".to_owned()),
            region: None,
            labels: BTreeMap::from([
                ("sim.example/pool".to_owned(), "workers".to_owned()),
                ("example.com/kept".to_owned(), "cloud".to_owned()),
                ("kubernetes.io/role".to_owned(), "x".to_owned()),
                ("node.k8s.io/role".to_owned(), "x".to_owned()),
                ("notk8s.io/role".to_owned(), "ours".to_owned()),
            ]),
        }
    }

    #[test]
    fn a_node_gets_provider_id_and_labels_and_loses_one_taint() {
        let node = node(json!({
            "metadata": {"name": "n", "resourceVersion": "7", "labels": {
                "example.com/kept": "node", "topology.kubernetes.io/zone": "wrong"}},
            "spec": {"taints": [
                {"key": UNINITIALISED, "value": "true", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
        }));
        assert!(is_needed(&node));
        assert_eq!(
            patch(&node, &instance()),
            json!({
                "metadata": {"resourceVersion": "7", "labels": {
                    "beta.kubernetes.io/instance-type": "large",
                    "failure-domain.beta.kubernetes.io/zone": "a",
                    "node.kubernetes.io/instance-type": "large",
                    "notk8s.io/role": "ours",
                    "sim.example/pool": "workers",
                    "topology.kubernetes.io/zone": "a"}},
                "spec": {"providerID": "sim:///mach-000001",
                         "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
            })
        );
    }

    #[test]
    fn a_provider_id_is_never_changed() {
        let node = node(json!({"metadata": {"name": "n"}, "spec": {"providerID": "sim:///other"}}));
        assert!(!is_needed(&node));
        assert_eq!(patch(&node, &instance())["spec"].get("providerID"), None);
    }
}
