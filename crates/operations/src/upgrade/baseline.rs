//! The baseline of an upgrade: what was ready before it is ready after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;

use crate::access::ClusterAccess;
use crate::health;
use crate::opened::Opened;

/// How long nodes and workloads may take to become ready again after an upgrade.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time between two looks.
const PERIOD: Duration = Duration::from_secs(2);

/// The kinds of workloads, with the paths of their lists.
const WORKLOADS: [(&str, &str); 3] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("StatefulSet", "/apis/apps/v1/statefulsets"),
    ("DaemonSet", "/apis/apps/v1/daemonsets"),
];

/// The leases that kubelets renew every ten seconds. The API shows a node as ready for forty seconds and more after its kubelet has ended.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// The times at which the leases of nodes were renewed last, by the names of the nodes.
type Renewed = BTreeMap<String, String>;

/// The nodes and workloads of a cluster that were ready before an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    ready: BTreeSet<String>,
}

/// The nodes and workloads of a cluster.
#[derive(Default)]
struct Seen {
    ready: BTreeSet<String>,
    not_ready: BTreeSet<String>,
    renewed: Renewed,
}

impl Baseline {
    /// Reads a cluster on hosts. `None` for others, and for one whose API does not answer.
    pub async fn take(opened: &Opened) -> Option<Self> {
        if !opened.is_on_hosts() || opened.is_offline() {
            return None;
        }
        let seen = look(&opened.access()).await.ok()?;
        Some(Self { ready: seen.ready })
    }

    /// Waits until all that was ready before is ready again, for five minutes at most, or until `is_stopped`. A node is ready when its
    /// kubelet has renewed its lease meanwhile. Returns the names of what is not ready then, and why the cluster cannot be read if so.
    /// What was deleted since is not waited for.
    pub async fn wait(&self, opened: &Opened, is_stopped: impl Fn() -> bool) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        let mut first: Option<Renewed> = None;
        loop {
            let (lost, silent) = match look(&opened.access()).await {
                Ok(seen) => {
                    let first = first.get_or_insert_with(|| seen.renewed.clone());
                    (self.lost(&seen), self.silent(&seen, first))
                }
                Err(reason) => (vec![reason], Vec::new()),
            };
            if is_stopped() {
                return lost;
            }
            if lost.is_empty() && silent.is_empty() || Instant::now() >= until {
                return [lost, silent].concat();
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// What was ready before, exists, and is not ready.
    fn lost(&self, seen: &Seen) -> Vec<String> {
        self.ready.intersection(&seen.not_ready).cloned().collect()
    }

    /// The nodes that were ready before and are shown as ready, whose leases were not renewed since the first look.
    fn silent(&self, seen: &Seen, first: &Renewed) -> Vec<String> {
        let is_silent = |(node, renewed): &(&String, &String)| first.get(*node) == Some(*renewed);
        let silent = seen.renewed.iter().filter(is_silent).map(|(node, _)| format!("Node {node}"));
        silent.filter(|node| self.ready.contains(node) && seen.ready.contains(node)).collect()
    }
}

async fn look(access: &ClusterAccess) -> Result<Seen, String> {
    let api = health::api(access).await.map_err(|error| error.to_string())??;
    let mut seen = Seen::default();
    let nodes = api.get("/api/v1/nodes").await.map_err(|error| error.message)?;
    seen.add(&nodes, "Node", is_ready_node);
    for (kind, path) in WORKLOADS {
        let list = api.get(path).await.map_err(|error| error.message)?;
        seen.add(&list, kind, is_ready_workload);
    }
    // Without them, the state that the API shows has to do.
    if let Ok(leases) = api.get(LEASES).await {
        seen.renewed = renewed(&leases);
    }
    Ok(seen)
}

fn renewed(leases: &Json) -> Renewed {
    let text = |lease: &Json, pointer: &str| lease.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
    let leases = leases.get("items").and_then(Json::as_array).into_iter().flatten();
    leases
        .filter_map(|lease| Some((text(lease, "/metadata/name")?, text(lease, "/spec/renewTime")?)))
        .collect()
}

impl Seen {
    fn add(&mut self, list: &Json, kind: &str, is_ready: fn(&Json) -> bool) {
        for object in list.get("items").and_then(Json::as_array).into_iter().flatten() {
            let text = |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
            let name = match text("/metadata/namespace") {
                "" => format!("{kind} {}", text("/metadata/name")),
                namespace => format!("{kind} {namespace}/{}", text("/metadata/name")),
            };
            if is_ready(object) {
                self.ready.insert(name)
            } else {
                self.not_ready.insert(name)
            };
        }
    }
}

fn is_ready_node(node: &Json) -> bool {
    let conditions = node.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    let text = |condition: &Json, name: &str| condition.get(name).and_then(Json::as_str).map(str::to_owned);
    conditions
        .filter(|condition| text(condition, "type").as_deref() == Some("Ready"))
        .any(|condition| text(condition, "status").as_deref() == Some("True"))
}

/// Whether a workload has as many ready pods as it should have.
fn is_ready_workload(workload: &Json) -> bool {
    let number = |pointer: &str| workload.pointer(pointer).and_then(Json::as_u64);
    let (desired, ready) = match number("/status/desiredNumberScheduled") {
        // A DaemonSet.
        Some(desired) => (desired, number("/status/numberReady")),
        None => (number("/spec/replicas").unwrap_or(1), number("/status/readyReplicas")),
    };
    ready.unwrap_or_default() >= desired
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(web: u64, proxies: u64, node: &str) -> Seen {
        let mut seen = Seen::default();
        let node = json!({ "metadata": { "name": "cp-0" }, "status": { "conditions": [{ "type": "Ready", "status": node }] } });
        seen.add(&json!({ "items": [node] }), "Node", is_ready_node);
        let web = json!({
            "metadata": { "namespace": "default", "name": "web" }, "spec": { "replicas": 2 }, "status": { "readyReplicas": web },
        });
        let idle = json!({ "metadata": { "namespace": "default", "name": "idle" }, "spec": { "replicas": 0 }, "status": {} });
        seen.add(&json!({ "items": [web, idle] }), "Deployment", is_ready_workload);
        let proxies = json!({
            "metadata": { "namespace": "kube-system", "name": "kube-proxy" },
            "status": { "desiredNumberScheduled": 3, "numberReady": proxies },
        });
        seen.add(&json!({ "items": [proxies] }), "DaemonSet", is_ready_workload);
        seen
    }

    #[test]
    fn what_was_ready_and_is_not_ready_is_lost() {
        let baseline = Baseline { ready: seen(2, 2, "True").ready };
        let before = ["Deployment default/idle", "Deployment default/web", "Node cp-0"];
        assert_eq!(baseline.ready.iter().collect::<Vec<_>>(), before);
        assert!(baseline.lost(&seen(2, 3, "True")).is_empty());
        // The DaemonSet was not ready before.
        assert_eq!(baseline.lost(&seen(1, 0, "Unknown")), ["Deployment default/web", "Node cp-0"]);
        // What was deleted is not lost.
        assert!(baseline.lost(&Seen::default()).is_empty());
    }

    #[test]
    fn a_node_is_ready_when_its_lease_is_renewed() {
        let baseline = Baseline { ready: seen(2, 3, "True").ready };
        let leases = |time: &str| {
            let lease = |name: &str| json!({ "metadata": { "name": name }, "spec": { "renewTime": time } });
            renewed(&json!({ "items": [lease("cp-0"), lease("gone"), { "metadata": { "name": "new" } }] }))
        };
        let silent = |node: &str, time: &str| {
            let seen = Seen { renewed: leases(time), ..seen(2, 3, node) };
            baseline.silent(&seen, &leases("2026-01-01T00:00:00.000000Z"))
        };
        assert_eq!(silent("True", "2026-01-01T00:00:00.000000Z"), ["Node cp-0"]);
        assert!(silent("True", "2026-01-01T00:00:09.000000Z").is_empty());
        assert!(silent("Unknown", "2026-01-01T00:00:00.000000Z").is_empty(), "it is lost");
        assert!(baseline.silent(&seen(2, 3, "True"), &Renewed::new()).is_empty(), "without leases");
    }
}
