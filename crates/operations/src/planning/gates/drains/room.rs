//! The room that other nodes have for the pods of a node.
//!
//! Only what is certain is reported: affinities and preemption are not considered, and pods that no other node takes are not either,
//! because they wait for their own node.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use slipway_provider_kubernetes::leaves;
use slipway_spec::value::Quantity;

use super::super::text;

/// Amounts of resources in base units (cores, bytes, pods), by the name of the resource.
type Amounts = BTreeMap<String, f64>;

/// The resource of which each pod needs one.
const PODS: &str = "pods";

/// Amounts that differ by less are equal: sums of decimal fractions are not exact.
const TOLERANCE: f64 = 1e-6;

/// The reason why the pods of a node do not all have room on other nodes; `None` if they may have.
pub(super) fn lacking(drained: &str, nodes: &[&Json], pods: &[Json]) -> Option<String> {
    let others: Vec<(&Json, Amounts)> = nodes
        .iter()
        .filter(|node| text(node, "/metadata/name") != drained && takes_pods(node))
        .map(|node| (*node, free(node, pods)))
        .collect();
    let leaving = pods.iter().filter(|pod| is_on(pod, drained) && leaves(pod));
    let (mut needed, mut taken) = (Amounts::new(), vec![false; others.len()]);
    for pod in leaving {
        let fits: Vec<usize> = (0..others.len()).filter(|index| admits(others[*index].0, pod)).collect();
        if fits.is_empty() {
            continue;
        }
        let request = requested(pod);
        if !fits.iter().any(|index| short_of(&request, &others[*index].1).is_none()) {
            let name = format!("{}/{}", text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
            return Some(format!(
                "its pod {name} has no room on other nodes: it requests {}",
                said(&request)
            ));
        }
        add(&mut needed, &request);
        for index in fits {
            taken[index] = true;
        }
    }
    let mut room = Amounts::new();
    for ((_, free), _) in others.iter().zip(&taken).filter(|(_, is_taken)| **is_taken) {
        add(&mut room, free);
    }
    let resource = short_of(&needed, &room)?;
    let amount = |amounts: &Amounts| shown(resource, amounts.get(resource).copied().unwrap_or_default());
    Some(format!(
        "its pods request {resource} {}, and the nodes that take them have {} left",
        amount(&needed),
        amount(&room)
    ))
}

/// Whether a pod that has not finished is on a node.
pub(super) fn is_on(pod: &Json, node: &str) -> bool {
    text(pod, "/spec/nodeName") == node
        && !matches!(text(pod, "/status/phase").as_str(), "Succeeded" | "Failed")
}

/// Whether a node is ready and not cordoned.
fn takes_pods(node: &Json) -> bool {
    let is_ready = list(node, "/status/conditions")
        .any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True");
    is_ready && node.pointer("/spec/unschedulable").and_then(Json::as_bool) != Some(true)
}

/// Whether a node has the labels that a pod selects, and the pod tolerates the taints of the node.
fn admits(node: &Json, pod: &Json) -> bool {
    let label = |key: &str| node.pointer("/metadata/labels").and_then(|labels| labels.get(key)?.as_str());
    let mut selector = pod.pointer("/spec/nodeSelector").and_then(Json::as_object).into_iter().flatten();
    let repels = |taint: &&Json| matches!(text(taint, "/effect").as_str(), "NoSchedule" | "NoExecute");
    selector.all(|(key, value)| label(key) == value.as_str())
        && list(node, "/spec/taints")
            .filter(repels)
            .all(|taint| list(pod, "/spec/tolerations").any(|toleration| tolerates(toleration, taint)))
}

/// Whether a toleration matches a taint.
fn tolerates(toleration: &Json, taint: &Json) -> bool {
    let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
    let exists = text(toleration, "/operator") == "Exists";
    (effect.is_empty() || effect == text(taint, "/effect"))
        && (key == text(taint, "/key") || key.is_empty() && exists)
        && (exists || text(toleration, "/value") == text(taint, "/value"))
}

/// The amounts that the pods of a node leave.
fn free(node: &Json, pods: &[Json]) -> Amounts {
    let mut free = amounts(node.pointer("/status/allocatable"));
    let name = text(node, "/metadata/name");
    for pod in pods.iter().filter(|pod| is_on(pod, &name)) {
        for (resource, amount) in requested(pod) {
            if let Some(free) = free.get_mut(&resource) {
                *free = (*free - amount).max(0.0);
            }
        }
    }
    free
}

/// The amounts that a pod requests while it runs.
fn requested(pod: &Json) -> Amounts {
    let is_sidecar = |container: &&Json| text(container, "/restartPolicy") == "Always";
    let sidecars = list(pod, "/spec/initContainers").filter(is_sidecar);
    let mut requested = Amounts::from([(PODS.to_owned(), 1.0)]);
    for container in list(pod, "/spec/containers").chain(sidecars) {
        add(&mut requested, &amounts(container.pointer("/resources/requests")));
    }
    add(&mut requested, &amounts(pod.pointer("/spec/overhead")));
    requested
}

/// Amounts as the API has them.
fn amounts(object: Option<&Json>) -> Amounts {
    let entries = object.and_then(Json::as_object).into_iter().flatten();
    let measured = entries.filter_map(|(resource, amount)| {
        let quantity: Quantity = amount.as_str()?.parse().ok()?;
        Some((resource.clone(), quantity.to_f64()))
    });
    measured.collect()
}

fn add(sum: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        *sum.entry(resource.clone()).or_default() += amount;
    }
}

/// The first resource of which more is needed than there is.
fn short_of<'a>(needed: &'a Amounts, free: &Amounts) -> Option<&'a str> {
    let is_short = |(resource, amount): &(&String, &f64)| {
        **amount > free.get(*resource).copied().unwrap_or_default() + TOLERANCE
    };
    needed.iter().find(is_short).map(|(resource, _)| resource.as_str())
}

/// Amounts of a pod, as text.
fn said(amounts: &Amounts) -> String {
    let others = amounts.iter().filter(|(resource, _)| *resource != PODS);
    let all: Vec<String> =
        others.map(|(resource, amount)| format!("{resource} {}", shown(resource, *amount))).collect();
    if all.is_empty() { "one of the pods that a node can have".to_owned() } else { all.join(", ") }
}

/// An amount as text: bytes in mebibytes.
fn shown(resource: &str, amount: f64) -> String {
    let is_of_bytes =
        matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    if is_of_bytes {
        format!("{:.0}Mi", amount / 1_048_576.0)
    } else {
        format!("{}", (amount * 1000.0).round() / 1000.0)
    }
}

/// The items of a list in an object.
fn list<'a>(object: &'a Json, pointer: &str) -> impl Iterator<Item = &'a Json> {
    object.pointer(pointer).and_then(Json::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, cpu: &str, spec: &Json) -> Json {
        json!({
            "metadata": { "name": name, "labels": { "disk": name } },
            "spec": spec,
            "status": {
                "allocatable": { "cpu": cpu, "memory": "4Gi", "pods": "110" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        })
    }

    fn pod(name: &str, node: &str, cpu: &str) -> Json {
        json!({
            "metadata": { "namespace": "default", "name": name },
            "spec": {
                "nodeName": node,
                "containers": [{ "resources": { "requests": { "cpu": cpu, "memory": "64Mi" } } }, {}],
            },
            "status": { "phase": "Running" },
        })
    }

    fn lack(nodes: &[Json], pods: &[Json]) -> Option<String> {
        lacking("a", &nodes.iter().collect::<Vec<_>>(), pods)
    }

    #[test]
    fn a_pod_that_fits_on_no_other_node_is_named() {
        let nodes = [node("a", "4", &json!({})), node("b", "2", &json!({})), node("c", "1500m", &json!({}))];
        let pods = [pod("big", "a", "1500m"), pod("other", "b", "600m")];
        assert_eq!(lack(&nodes, &pods), None, "c has room");
        let pods = [pods.as_slice(), &[pod("small", "c", "100m")]].concat();
        assert_eq!(
            lack(&nodes, &pods).unwrap(),
            "its pod default/big has no room on other nodes: it requests cpu 1.5, memory 64Mi"
        );
    }

    #[test]
    fn pods_that_fit_one_by_one_need_room_together() {
        let nodes = [node("a", "4", &json!({})), node("b", "2", &json!({}))];
        let two = [pod("one", "a", "0.9"), pod("two", "a", "1100m")];
        assert_eq!(lack(&nodes, &two), None);
        let three = [two.as_slice(), &[pod("three", "a", "0.5")]].concat();
        assert_eq!(
            lack(&nodes, &three).unwrap(),
            "its pods request cpu 2.5, and the nodes that take them have 2 left"
        );
    }

    #[test]
    fn pods_that_no_other_node_takes_are_not_counted() {
        let big = [pod("big", "a", "3")];
        assert_eq!(lack(&[node("a", "4", &json!({}))], &big), None);
        let cordoned = node("b", "1", &json!({ "unschedulable": true }));
        assert_eq!(lack(&[node("a", "4", &json!({})), cordoned], &big), None);
        let mut unready = node("b", "1", &json!({}));
        unready["status"]["conditions"][0]["status"] = json!("Unknown");
        assert_eq!(lack(&[node("a", "4", &json!({})), unready], &big), None);
        let tainted = node("b", "1", &json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] }));
        let nodes = [node("a", "4", &json!({})), tainted];
        assert_eq!(lack(&nodes, &big), None);
        let mut tolerant = big[0].clone();
        tolerant["spec"]["tolerations"] = json!([{ "key": "k", "operator": "Exists" }]);
        assert!(lack(&nodes, &[tolerant]).is_some());
        let mut elsewhere = big[0].clone();
        elsewhere["spec"]["nodeSelector"] = json!({ "disk": "a" });
        assert_eq!(lack(&[node("a", "4", &json!({})), node("b", "1", &json!({}))], &[elsewhere]), None);
    }

    #[test]
    fn pods_that_stay_and_pods_that_have_finished_need_no_room() {
        let nodes = [node("a", "4", &json!({})), node("b", "1", &json!({}))];
        let mut daemon = pod("daemon", "a", "3");
        daemon["metadata"]["ownerReferences"] = json!([{ "kind": "DaemonSet" }]);
        let mut done = pod("done", "b", "1");
        done["status"]["phase"] = json!("Succeeded");
        assert_eq!(lack(&nodes, &[daemon, done, pod("small", "a", "1")]), None);
    }

    #[test]
    fn sidecars_and_overhead_are_requested_too() {
        let mut pod = pod("web", "a", "100m");
        pod["spec"]["initContainers"] = json!([
            { "restartPolicy": "Always", "resources": { "requests": { "cpu": "200m" } } },
            { "resources": { "requests": { "cpu": "9" } } },
        ]);
        pod["spec"]["overhead"] = json!({ "cpu": "50m" });
        assert_eq!(said(&requested(&pod)), "cpu 0.35, memory 64Mi");
    }
}
