//! Emptying a node: one round of evictions at a time, so that the caller keeps the time and tells what holds it up.

use http::Method;
use serde_json::{Value as Json, json};

use crate::client::escaped;
use crate::{Client, Error, Node};

/// What is respected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether pods leave by the eviction API, within the budgets; else they are deleted.
    pub budgets: bool,
}

/// What became of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// How many pods were told to go.
    pub told: usize,
    /// How many pods are going already.
    pub going: usize,
    /// Which pods may not go yet, and why: `pod default/web-0: The disruption budget web needs 2 healthy pods`.
    pub blocked: Vec<String>,
}

impl Round {
    /// Whether nothing is left on the node that has to go.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.told == 0 && self.going == 0 && self.blocked.is_empty()
    }
}

/// A pod that has to leave.
struct Pod {
    namespace: String,
    name: String,
    going: bool,
}

impl Pod {
    /// The pod, unless it stays: those of DaemonSets come back at once, those of the node's own files are the
    /// kubelet's, and those that are done run no more.
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

/// Whether a pod would have to leave its node.
pub(crate) fn leaves(json: &Json) -> bool {
    Pod::leaving(json).is_some()
}

impl Client {
    /// Tells every pod of a node to go that is not going yet, and says what is left. A node is empty when a round
    /// [is](Round::is_empty). May be repeated at any time.
    ///
    /// # Errors
    /// As the API says; a budget that holds an eviction up is no error.
    pub async fn evict(&self, node: &Node, rules: Rules) -> Result<Round, Error> {
        let selector = escaped(&format!("spec.nodeName={}", node.name));
        let pods = self.list(&format!("/api/v1/pods?fieldSelector={selector}")).await?;
        let mut round = Round::default();
        for pod in pods.iter().filter_map(Pod::leaving) {
            if pod.going {
                round.going += 1;
                continue;
            }
            match self.tell_to_go(&pod, rules).await {
                Ok(()) => round.told += 1,
                Err(error) if error.is_not_found() => {}
                Err(Error::Refused { status: 429, message, .. }) => {
                    round.blocked.push(format!("pod {}/{}: {message}", pod.namespace, pod.name));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(round)
    }

    async fn tell_to_go(&self, pod: &Pod, rules: Rules) -> Result<(), Error> {
        let Pod { namespace, name, .. } = pod;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        if rules.budgets {
            let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": name, "namespace": namespace}});
            let path = format!("{path}/eviction");
            self.send_document(Method::POST, &path, ("application/json", &eviction)).await.map(drop)
        } else {
            self.send_document(Method::DELETE, &path, ("application/json", &json!({}))).await.map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
