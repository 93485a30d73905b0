//! Nodes: found, looked at, cordoned.

use http::Method;
use serde_json::{Value as Json, json};

use crate::{Client, Error};

/// A machine as the cluster sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What the cloud calls it, as `aws:///us-east-1a/i-0123`; empty before a cloud controller has seen it.
    pub provider_id: String,
    /// Whether its kubelet says that it is ready.
    pub ready: bool,
    /// Why it is not, in the kubelet's words.
    pub reason: String,
    /// Whether nothing new comes onto it.
    pub cordoned: bool,
    /// The version that its kubelet reports, as v1.34.4; empty before it has.
    pub kubelet_version: String,
    /// Whether it was cordoned for a change after which it takes pods again.
    pub cordoned_for_a_change: bool,
}

/// The annotation of a node that was cordoned for a change.
const CORDONED: &str = "slipway.dev/cordoned";

impl Node {
    fn of(json: &Json) -> Option<Self> {
        let conditions = json.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
        let text =
            |value: &Json, name: &str| value.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let mut ready =
            conditions.filter(|condition| condition.get("type").and_then(Json::as_str) == Some("Ready"));
        let ready = ready.next();
        Some(Self {
            name: json.pointer("/metadata/name")?.as_str()?.to_owned(),
            provider_id: json.get("spec").map(|spec| text(spec, "providerID")).unwrap_or_default(),
            ready: ready.is_some_and(|condition| text(condition, "status") == "True"),
            reason: ready
                .map_or_else(|| "its kubelet says nothing".to_owned(), |found| text(found, "message")),
            cordoned: json.pointer("/spec/unschedulable").and_then(Json::as_bool).unwrap_or_default(),
            kubelet_version: json
                .pointer("/status/nodeInfo")
                .map(|info| text(info, "kubeletVersion"))
                .unwrap_or_default(),
            cordoned_for_a_change: json
                .pointer("/metadata/annotations")
                .is_some_and(|all| all.get(CORDONED).is_some()),
        })
    }
}

impl Client {
    /// Every node of the cluster.
    ///
    /// # Errors
    /// As the API says.
    pub async fn nodes(&self) -> Result<Vec<Node>, Error> {
        let nodes = self.list("/api/v1/nodes?watch=false").await?;
        Ok(nodes.iter().filter_map(Node::of).collect())
    }

    /// The node of a name; `None` for one that has not registered or is gone.
    ///
    /// # Errors
    /// As the API says.
    pub async fn node(&self, name: &str) -> Result<Option<Node>, Error> {
        match self.get(&format!("/api/v1/nodes/{name}")).await {
            Ok(node) => Ok(Node::of(&node)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets pods onto a node again.
    ///
    /// # Errors
    /// As the API says.
    pub async fn uncordon(&self, node: &Node) -> Result<(), Error> {
        if !node.cordoned {
            return Ok(());
        }
        let patch =
            json!({ "metadata": { "annotations": { CORDONED: null } }, "spec": { "unschedulable": null } });
        let path = format!("/api/v1/nodes/{}", node.name);
        let document = ("application/merge-patch+json", &patch);
        self.send_document(Method::PATCH, &path, document).await.map(drop)
    }

    /// Ends what [`Client::cordon_for_a_change`] began: a node that was cordoned before stays cordoned.
    ///
    /// # Errors
    /// As the API says.
    pub async fn uncordon_after_a_change(&self, node: &Node) -> Result<(), Error> {
        if node.cordoned_for_a_change { self.uncordon(node).await } else { Ok(()) }
    }

    /// Lets nothing new onto a node. One that is gone, or cordoned already, is as it should be.
    ///
    /// # Errors
    /// As the API says.
    pub async fn cordon(&self, node: &Node) -> Result<(), Error> {
        self.make_unschedulable(node, json!({ "spec": { "unschedulable": true } })).await
    }

    /// The same for a change after which the node takes pods again.
    ///
    /// # Errors
    /// As the API says.
    pub async fn cordon_for_a_change(&self, node: &Node) -> Result<(), Error> {
        let annotations = json!({ "annotations": { CORDONED: "true" } });
        self.make_unschedulable(node, json!({ "metadata": annotations, "spec": { "unschedulable": true } }))
            .await
    }

    async fn make_unschedulable(&self, node: &Node, patch: Json) -> Result<(), Error> {
        if node.cordoned {
            return Ok(());
        }
        let path = format!("/api/v1/nodes/{}", node.name);
        let document = ("application/merge-patch+json", &patch);
        match self.send_document(Method::PATCH, &path, document).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes a node out of the cluster whose machine is gone, so that nothing waits for it.
    ///
    /// # Errors
    /// As the API says.
    pub async fn forget(&self, node: &Node) -> Result<(), Error> {
        let path = format!("/api/v1/nodes/{}", node.name);
        match self.send_document(Method::DELETE, &path, ("application/json", &json!({}))).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ready_when_its_kubelet_says_so() {
        let node = |status: &str| {
            Node::of(&json!({"metadata": {"name": "a"}, "spec": {"providerID": "aws:///us-east-1a/i-1"},
                "status": {"conditions": [{"type": "MemoryPressure", "status": "False"},
                    {"type": "Ready", "status": status, "message": "container runtime network not ready"}]}}))
            .unwrap()
        };
        assert!(node("True").ready && !node("False").ready && !node("Unknown").ready);
        assert_eq!(node("False").provider_id, "aws:///us-east-1a/i-1");
        assert_eq!(node("False").reason, "container runtime network not ready");
        let bare = Node::of(&json!({"metadata": {"name": "a"}})).unwrap();
        assert!(!bare.ready && !bare.cordoned && bare.provider_id.is_empty());
    }
}
