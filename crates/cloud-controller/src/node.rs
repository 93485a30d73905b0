//! The parts of a Node that the controllers read.

use slipway_controller::k8s_openapi::api::core::v1::{Node, ObjectReference};
use slipway_controller::kube::Resource as _;
use slipway_resource::provider::InstanceQuery;

/// Its name.
pub(crate) fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// Its provider id; `None` while it has none.
pub(crate) fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty())
}

/// The question for its instance.
pub(crate) fn query(node: &Node) -> InstanceQuery {
    InstanceQuery { node: name(node).to_owned(), provider_id: provider_id(node).map(str::to_owned) }
}

/// Whether its kubelet reports that it is ready.
pub(crate) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The reference to a node in an event. Events of nodes have the name as their uid, like those of the
/// kubelet, so that `kubectl describe node` shows all of them.
pub(crate) fn reference(node: &Node) -> ObjectReference {
    ObjectReference { uid: Some(name(node).to_owned()), ..node.object_ref(&()) }
}
