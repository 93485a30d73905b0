//! The parts of a Node that the controllers read.

use ipnet::IpNet;
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
    condition(node, "Ready") == Some("True")
}

/// The status of one of its conditions.
pub(crate) fn condition<'n>(node: &'n Node, kind: &str) -> Option<&'n str> {
    let conditions = node.status.as_ref()?.conditions.as_deref()?;
    Some(conditions.iter().find(|condition| condition.type_ == kind)?.status.as_str())
}

/// Its uid.
pub(crate) fn uid(node: &Node) -> String {
    node.metadata.uid.clone().unwrap_or_default()
}

/// The ranges of its pods. The API accepts nothing else in these fields.
pub(crate) fn pod_ranges(node: &Node) -> Vec<IpNet> {
    let ranges = node.spec.as_ref().and_then(|spec| spec.pod_cidrs.as_deref()).unwrap_or_default();
    ranges.iter().filter_map(|range| range.parse().ok()).collect()
}

/// The reference to a node in an event. Events of nodes have the name as their uid, like those of the
/// kubelet, so that `kubectl describe node` shows all of them.
pub(crate) fn reference(node: &Node) -> ObjectReference {
    ObjectReference { uid: Some(name(node).to_owned()), ..node.object_ref(&()) }
}
