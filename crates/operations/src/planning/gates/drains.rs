//! Gates of the nodes that an upgrade drains: budgets let their pods leave, controllers create them again, and other nodes have room for
//! them.

mod room;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use slipway_provider_kubernetes::{NODE, leaves};
use slipway_resource::Desired;
use slipway_spec::value::KubernetesVersion;

use super::{Gate, items, text, unreadable};
use crate::access::ClusterAccess;
use crate::health;

/// The attribute of a node with the version that its kubelet gets.
const KUBELET_VERSION: &str = "kubelet_version";

/// Reads the cluster, and returns the gates of the nodes that are drained for these resources.
pub(in crate::planning) async fn look(access: &ClusterAccess, desired: &[Desired]) -> Vec<Gate> {
    let gates = read(access, &kubelets(desired)).await;
    gates.unwrap_or_else(|reason| vec![unreadable("Drains", &reason)])
}

async fn read(
    access: &ClusterAccess,
    kubelets: &BTreeMap<&str, KubernetesVersion>,
) -> Result<Vec<Gate>, String> {
    if kubelets.is_empty() {
        return Ok(Vec::new());
    }
    let api = health::api(access).await.map_err(|error| error.to_string())??;
    let nodes = api.get("/api/v1/nodes").await.map_err(|error| error.message)?;
    let drained = drained(kubelets, &nodes);
    if drained.is_empty() {
        return Ok(Vec::new());
    }
    let (blockers, pods) = tokio::join!(api.blockers(), api.pods());
    let blockers = blockers.map_err(|error| error.message)?;
    let pods = pods.map_err(|error| error.message)?;
    let nodes: Vec<&Json> = items(&nodes).collect();
    let mut gates = blocked(&drained, &blockers);
    for node in &drained {
        gates.extend(unmanaged(node, &pods));
        gates.extend(room::lacking(node, &nodes, &pods).map(|lack| without_room(node, &lack)));
    }
    Ok(gates)
}

/// The versions of the kubelets that the plan installs, by node.
fn kubelets(desired: &[Desired]) -> BTreeMap<&str, KubernetesVersion> {
    let nodes = desired.iter().filter(|desired| desired.address.kind() == NODE);
    let version = |node: &Desired| -> Option<KubernetesVersion> {
        node.attributes.get(KUBELET_VERSION)?.as_str()?.parse().ok()
    };
    nodes.filter_map(|node| Some((node.address.name(), version(node)?))).collect()
}

/// The names of the nodes that are drained: their kubelets get another minor version.
fn drained(kubelets: &BTreeMap<&str, KubernetesVersion>, nodes: &Json) -> Vec<String> {
    let changes = |name: &str, node: &Json| {
        let seen = text(node, "/status/nodeInfo/kubeletVersion");
        let seen = seen.trim_start_matches('v').parse::<KubernetesVersion>();
        match (kubelets.get(name), seen) {
            (Some(next), Ok(seen)) => (seen.major, seen.minor) != (next.major, next.minor),
            _ => false,
        }
    };
    let named = items(nodes).map(|node| (text(node, "/metadata/name"), node));
    named.filter(|(name, node)| changes(name, node)).map(|(name, _)| name).collect()
}

/// The gates of the nodes whose drains are blocked by budgets.
fn blocked(drained: &[String], blockers: &BTreeMap<String, Vec<String>>) -> Vec<Gate> {
    let found = drained.iter().filter_map(|node| Some((node, blockers.get(node)?)));
    let gate = |(node, blockers): (&String, &Vec<String>)| Gate {
        name: format!("Drain--{node}"),
        message: format!("the drain of the node {node} is blocked: {}", blockers.join("; ")),
        hint: "wait until all pods of the budget are ready, or let the budget allow a disruption",
    };
    found.map(gate).collect()
}

/// The gate of a node with pods that a drain would delete for ever.
fn unmanaged(node: &str, pods: &[Json]) -> Option<Gate> {
    let is_lost = |pod: &&Json| {
        let owners = pod.pointer("/metadata/ownerReferences").and_then(Json::as_array);
        room::is_on(pod, node)
            && leaves(pod)
            && owners.is_none_or(Vec::is_empty)
            && pod.pointer("/metadata/deletionTimestamp").is_none()
    };
    let name = |pod: &Json| format!("{}/{}", text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
    let names: Vec<String> = pods.iter().filter(is_lost).map(name).collect();
    (!names.is_empty()).then(|| Gate {
        name: format!("UnmanagedPods--{node}"),
        message: format!(
            "the drain of the node {node} deletes pods that no controller creates again: {}",
            names.join(", ")
        ),
        hint: "delete them, or let a Deployment or another controller create them",
    })
}

/// The gate of a node whose pods have no room on other nodes.
fn without_room(node: &str, lack: &str) -> Gate {
    Gate {
        name: format!("Capacity--{node}"),
        message: format!("while the node {node} is drained, {lack}"),
        hint: "add a machine, or reduce the replicas or the requests of workloads",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::{Address, Value};

    use super::*;

    #[test]
    fn nodes_are_drained_for_another_minor_version_of_their_kubelets() {
        let node = |name: &str, version: Option<&str>| {
            let attributes = version.map(|version| (KUBELET_VERSION, Value::from(version)));
            Desired::new(Address::new(NODE, name), Value::map(attributes))
        };
        let desired = [
            node("cp-0", Some("1.34.4")),
            node("cp-1", Some("1.34.4")),
            node("worker-0", Some("1.33.13")),
            node("worker-1", None),
            Desired::new(Address::new("service", "cp-0/kubelet"), Value::map([("enabled", true)])),
        ];
        let seen = |name: &str, version: &str| json!({ "metadata": { "name": name }, "status": { "nodeInfo": { "kubeletVersion": version } } });
        let nodes = json!({ "items": [
            seen("cp-0", "v1.33.13"),
            seen("cp-1", "v1.34.1"),
            seen("worker-0", "v1.33.13"),
            seen("worker-1", "v1.33.13"),
            seen("of-others", "v1.30.0"),
        ] });
        assert_eq!(drained(&kubelets(&desired), &nodes), ["cp-0"]);
    }

    #[test]
    fn only_budgets_of_drained_nodes_are_gates() {
        let budget = |name: &str| vec![format!("budget default/{name} allows 0 disruptions")];
        let blockers =
            BTreeMap::from([("cp-0".to_owned(), budget("web")), ("worker-0".to_owned(), budget("shop"))]);
        let gates = blocked(&["cp-0".to_owned(), "cp-1".to_owned()], &blockers);
        assert_eq!(gates.len(), 1);
        assert_eq!(gates[0].name, "Drain--cp-0");
        assert!(gates[0].message.ends_with("is blocked: budget default/web allows 0 disruptions"));
    }

    #[test]
    fn pods_without_a_controller_are_gates() {
        let pod = |name: &str, metadata: Json| {
            let mut pod = json!({ "metadata": metadata, "spec": { "nodeName": "cp-0" }, "status": { "phase": "Running" } });
            pod["metadata"]["namespace"] = json!("default");
            pod["metadata"]["name"] = json!(name);
            pod
        };
        let pods = [
            pod("bare", json!({})),
            pod("web", json!({ "ownerReferences": [{ "kind": "ReplicaSet" }] })),
            pod("static", json!({ "annotations": { "kubernetes.io/config.mirror": "x" } })),
            pod("gone", json!({ "deletionTimestamp": "2026-11-27T20:00:00Z" })),
        ];
        let gate = unmanaged("cp-0", &pods).unwrap();
        assert_eq!(gate.name, "UnmanagedPods--cp-0");
        assert!(gate.message.ends_with("creates again: default/bare"), "{}", gate.message);
        assert_eq!(unmanaged("cp-1", &pods), None);
    }

    #[test]
    fn the_gate_of_the_capacity_is_that_of_a_node() {
        let gate = without_room("worker-0", "its pod default/web has no room on other nodes");
        assert_eq!(gate.name, "Capacity--worker-0");
        assert!(gate.message.starts_with("while the node worker-0 is drained, its pod"));
    }
}
