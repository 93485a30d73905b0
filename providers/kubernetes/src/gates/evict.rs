//! Emptying a node: one round of evictions at a time, so that the caller keeps the time and reports what blocks it.

use serde_json::{Value as Json, json};
use slipway_resource::ProviderError;

use super::Node;
use crate::api::{Answer, Connection, Refusal, Request, Selector};

/// The limits of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether pods leave by the eviction API, within the budgets; else they are deleted.
    pub(crate) budgets: bool,
}

/// The result of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// How many pods were told to leave.
    pub(crate) asked: usize,
    /// How many pods are leaving already.
    pub(crate) going: usize,
    /// Which pods may not leave yet, and why: `pod default/web-0: The disruption budget web needs 2 healthy pods`.
    pub(crate) blocked: Vec<String>,
}

impl Round {
    /// Whether no pod is left that must leave.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked == 0 && self.going == 0 && self.blocked.is_empty()
    }
}

/// A pod that has to leave.
struct Pod {
    namespace: String,
    name: String,
    going: bool,
}

impl Pod {
    /// The pod, unless it stays: pods of DaemonSets are created again at once, static pods belong to the
    /// kubelet, and completed pods do not run any more.
    fn leaving(json: &Json) -> Option<Self> {
        let text = |path: &str| json.pointer(path).and_then(Json::as_str).map(str::to_owned);
        if matches!(text("/status/phase").as_deref(), Some("Succeeded" | "Failed")) {
            return None;
        }
        if json.pointer("/metadata/annotations/kubernetes.io~1config.mirror").is_some() {
            return None;
        }
        let owners = json.pointer("/metadata/ownerReferences").and_then(Json::as_array).into_iter().flatten();
        let mut kinds = owners.filter_map(|owner| owner.get("kind")?.as_str());
        if kinds.any(|kind| kind == "DaemonSet") {
            return None;
        }
        Some(Self {
            namespace: text("/metadata/namespace")?,
            name: text("/metadata/name")?,
            going: text("/metadata/deletionTimestamp").is_some(),
        })
    }
}

/// Whether a pod has to leave its node when the node is drained.
#[must_use]
pub fn leaves(json: &Json) -> bool {
    Pod::leaving(json).is_some()
}

impl Connection {
    /// Tells every pod of a node to leave that is not leaving yet, and returns what is left. A node is empty when a round
    /// [is](Round::is_empty). May be repeated at any time.
    ///
    /// # Errors
    /// As the API says; a budget that blocks an eviction is no error.
    pub(crate) async fn evict(&self, node: &Node, rules: Rules) -> Result<Round, ProviderError> {
        let of_node = format!("spec.nodeName={}", node.name);
        let pods = self.list_all("/api/v1/pods", ("v1", "Pod"), Selector::Fields(&of_node)).await?;
        let mut round = Round::default();
        for pod in pods.iter().filter_map(Pod::leaving) {
            if pod.going {
                round.going += 1;
                continue;
            }
            match self.repeatable(&eviction(&pod, rules)).await? {
                Answer::Done { .. } => round.asked += 1,
                Answer::Refused(refusal) if refusal.is_not_found() => {}
                Answer::Refused(refusal) if refusal.status == 429 => {
                    round.blocked.push(format!("pod {}/{}: {}", pod.namespace, pod.name, why(refusal)));
                }
                Answer::Refused(refusal) => return Err(refusal.into_error()),
            }
        }
        Ok(round)
    }
}

/// The request that tells a pod to leave.
fn eviction(pod: &Pod, rules: Rules) -> Request {
    let Pod { namespace, name, .. } = pod;
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    if !rules.budgets {
        return Request::delete(path, &json!({}));
    }
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace}});
    Request::post(format!("{path}/eviction"), &eviction)
}

/// Why a pod may not leave: the causes, which name the budget, or else the message.
fn why(refusal: Refusal) -> String {
    let causes: Vec<&str> =
        refusal.causes.iter().map(|cause| cause.message.as_str()).filter(|text| !text.is_empty()).collect();
    if causes.is_empty() { refusal.message } else { causes.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_budget() {
        let status = json!({"message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": {"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods"}]}});
        assert_eq!(why(Refusal::new(429, &status)), "The disruption budget web needs 2 healthy pods");
        assert_eq!(why(Refusal::new(429, &json!({"message": "not now"}))), "not now");
    }

    fn leaves(json: Json) -> bool {
        let mut pod = json!({"metadata": {"name": "a", "namespace": "default"}});
        for (key, value) in json.as_object().unwrap() {
            if key == "status" {
                pod["status"] = value.clone();
            } else {
                pod["metadata"][key] = value.clone();
            }
        }
        Pod::leaving(&pod).is_some()
    }

    #[test]
    fn what_belongs_to_the_node_stays() {
        assert!(leaves(json!({})));
        assert!(leaves(json!({"ownerReferences": [{"kind": "ReplicaSet"}]})));
        assert!(!leaves(json!({"ownerReferences": [{"kind": "DaemonSet"}]})));
        assert!(!leaves(json!({"annotations": {"kubernetes.io/config.mirror": "x"}})));
        assert!(!leaves(json!({"status": {"phase": "Succeeded"}})));
    }
}
