//! The nodes behind load balancers.
//!
//! The rules are those of `k8s.io/cloud-provider` 0.34 (`stableNodeSetPredicates`). A node that is not ready is one of them: the
//! health checks of load balancers decide about it.

use std::collections::BTreeMap;

use slipway_controller::k8s_openapi::api::core::v1::Node;
use slipway_resource::provider::{NodeAddress, NodeAddressKind, NodeTarget};

use crate::initialise::taints;
use crate::node::{name, provider_id};

/// The label that takes a node out of load balancers. The values `false`, `f` and `0` mean that it stays.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// The taint of a node that the cluster autoscaler is about to remove.
pub const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// Texts that mean `false` in labels, as `strconv.ParseBool` of Go reads them.
const FALSE: [&str; 6] = ["0", "f", "F", "false", "FALSE", "False"];

/// The nodes behind all load balancers, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BalancedNodes {
    by_name: BTreeMap<String, NodeTarget>,
}

/// The part of a set of nodes whose change concerns load balancers: provider ids by name.
pub(crate) type NodeSet = BTreeMap<String, Option<String>>;

impl BalancedNodes {
    pub(crate) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let balanced = nodes.into_iter().filter(|node| is_balanced(node));
        Self { by_name: balanced.map(|node| (name(node).to_owned(), target(node))).collect() }
    }

    /// The nodes, sorted by name.
    pub(crate) fn targets(&self) -> Vec<NodeTarget> {
        self.by_name.values().cloned().collect()
    }

    pub(crate) fn set(&self) -> NodeSet {
        self.by_name.iter().map(|(name, target)| (name.clone(), target.provider_id.clone())).collect()
    }
}

/// Whether load balancers send connections to a node.
#[must_use]
pub fn is_balanced(node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let is_excluded =
        labels.and_then(|labels| labels.get(EXCLUDED)).is_some_and(|value| !FALSE.contains(&value.as_str()));
    node.metadata.deletion_timestamp.is_none()
        && !is_excluded
        && !taints(node).iter().any(|taint| taint.key == TO_BE_DELETED)
}

/// A node as a target of load balancers and routes.
pub(crate) fn target(node: &Node) -> NodeTarget {
    let existing = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let address = |address: &slipway_controller::k8s_openapi::api::core::v1::NodeAddress| {
        let kind = NodeAddressKind::parse(&address.type_)?;
        Some(NodeAddress { kind, address: address.address.clone() })
    };
    NodeTarget {
        node: name(node).to_owned(),
        provider_id: provider_id(node).map(str::to_owned),
        addresses: existing.iter().filter_map(address).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn node(metadata: Json, taints: Json) -> Node {
        serde_json::from_value(json!({"metadata": metadata, "spec": {"taints": taints}})).unwrap()
    }

    #[test]
    fn excluded_leaving_and_doomed_nodes_are_not_balanced() {
        let labelled = |value: &str| node(json!({"labels": {EXCLUDED: value}}), json!([]));
        let cases = [
            (node(json!({"name": "n"}), json!([])), true),
            (labelled(""), false),
            (labelled("true"), false),
            (labelled("yes"), false),
            (labelled("false"), true),
            (labelled("0"), true),
            (node(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), json!([])), false),
            (node(json!({}), json!([{"key": TO_BE_DELETED, "effect": "NoSchedule"}])), false),
            (node(json!({}), json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])), true),
        ];
        for (node, expected) in cases {
            assert_eq!(is_balanced(&node), expected, "{node:?}");
        }
    }

    #[test]
    fn only_names_and_provider_ids_make_another_set() {
        let node = |spec: Json, status: Json| -> Node {
            serde_json::from_value(json!({"metadata": {"name": "n"}, "spec": spec, "status": status}))
                .unwrap()
        };
        let plain = BalancedNodes::of([&node(json!({}), json!({}))]);
        let address = json!({"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]});
        let addressed = BalancedNodes::of([&node(json!({}), address)]);
        let known = BalancedNodes::of([&node(json!({"providerID": "sim:///a"}), json!({}))]);
        assert_eq!(plain.set(), addressed.set());
        assert_ne!(plain.set(), known.set());
        assert_eq!(addressed.targets()[0].addresses[0].address, "10.0.0.1");
    }
}
