//! Nodes: found, looked at, cordoned.

use serde_json::{Value as Json, json};
use slipway_resource::{ErrorClass, ProviderError};

use crate::api::{Answer, Connection, Request, Selector};

/// A machine as the cluster sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: String,
    /// The provider id, as `aws:///us-east-1a/i-0123`; empty before a cloud controller has set it.
    pub(crate) provider_id: String,
    /// Whether the kubelet reports the node as ready.
    pub(crate) ready: bool,
    /// The kubelet's reason why the node is not ready.
    pub(crate) reason: String,
    /// Whether the node is unschedulable.
    pub(crate) cordoned: bool,
    /// The version that its kubelet reports, as v1.34.4; empty before it has.
    pub(crate) kubelet_version: String,
    /// Whether it was cordoned for a change after which it takes pods again.
    pub(crate) cordoned_for_a_change: bool,
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

impl Connection {
    /// Every node of the cluster.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn nodes(&self) -> Result<Vec<Node>, ProviderError> {
        let nodes = self.list_all("/api/v1/nodes", ("v1", "Node"), Selector::All).await?;
        Ok(nodes.iter().filter_map(Node::of).collect())
    }

    /// The node of this name; `None` when it has not registered or does not exist any more.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn node(&self, name: &str) -> Result<Option<Node>, ProviderError> {
        let found = self.ask(&Request::get(path(name))).await?.found()?;
        Ok(found.as_ref().and_then(Node::of))
    }

    /// Lets pods onto a node again.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn uncordon(&self, node: &Node) -> Result<(), ProviderError> {
        if !node.cordoned {
            return Ok(());
        }
        let patch =
            json!({ "metadata": { "annotations": { CORDONED: null } }, "spec": { "unschedulable": null } });
        self.repeatable(&Request::merge(path(&node.name), &patch)).await?.body().map(drop)
    }

    /// Uncordons a node after [`Connection::cordon_for_a_change`]. A node that was cordoned before stays
    /// cordoned.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn uncordon_after_a_change(&self, node: &Node) -> Result<(), ProviderError> {
        if node.cordoned_for_a_change { self.uncordon(node).await } else { Ok(()) }
    }

    /// Cordons a node. A node that is cordoned already, or does not exist any more, is left unchanged.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn cordon(&self, node: &Node) -> Result<(), ProviderError> {
        self.make_unschedulable(node, &json!({ "spec": { "unschedulable": true } })).await
    }

    /// The same for a change after which the node takes pods again.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn cordon_for_a_change(&self, node: &Node) -> Result<(), ProviderError> {
        let annotations = json!({ "annotations": { CORDONED: "true" } });
        let patch = json!({ "metadata": annotations, "spec": { "unschedulable": true } });
        self.make_unschedulable(node, &patch).await
    }

    async fn make_unschedulable(&self, node: &Node, patch: &Json) -> Result<(), ProviderError> {
        if node.cordoned {
            return Ok(());
        }
        self.repeatable(&Request::merge(path(&node.name), patch)).await?.found().map(drop)
    }

    /// Deletes the Node of a machine that does not exist any more.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn forget(&self, node: &Node) -> Result<(), ProviderError> {
        self.repeatable(&Request::delete(path(&node.name), &json!({}))).await?.found().map(drop)
    }

    /// Sends a request of a gate. The request may be sent twice, so it can be repeated when its outcome is
    /// not known.
    ///
    /// # Errors
    /// As [`Connection::send`]; `transient` in place of `outcome-unknown`.
    pub(super) async fn repeatable(&self, request: &Request) -> Result<Answer, ProviderError> {
        self.send(request).await.map_err(|error| match error.class {
            ErrorClass::OutcomeUnknown => ProviderError { class: ErrorClass::Transient, ..error },
            _ => error,
        })
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
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
