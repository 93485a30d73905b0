//! Nodes of the cluster.

use slipway_resource::Identity;
use slipway_resource::provider::{Node, NodeReference};

use super::Malformed;
use crate::generated as proto;

impl From<Node> for proto::Node {
    fn from(node: Node) -> Self {
        Self {
            name: node.name,
            identity: node.identity.as_str().to_owned(),
            provider_id: node.provider_id,
            ready: node.ready,
            blockers: node.blockers,
        }
    }
}

impl TryFrom<proto::Node> for Node {
    type Error = Malformed;

    fn try_from(message: proto::Node) -> Result<Self, Malformed> {
        if message.name.is_empty() {
            return Err(Malformed::missing("name"));
        }
        if message.identity.is_empty() {
            return Err(Malformed::missing("identity"));
        }
        Ok(Self {
            name: message.name,
            identity: Identity::new(message.identity),
            provider_id: message.provider_id.filter(|id| !id.is_empty()),
            ready: message.ready,
            blockers: message.blockers,
        })
    }
}

impl From<NodeReference> for proto::NodeReference {
    fn from(reference: NodeReference) -> Self {
        use proto::node_reference::Reference;
        let reference = match reference {
            NodeReference::Name(name) => Reference::Name(name),
            NodeReference::ProviderId(id) => Reference::ProviderId(id),
        };
        Self { reference: Some(reference) }
    }
}

impl TryFrom<proto::NodeReference> for NodeReference {
    type Error = Malformed;

    fn try_from(message: proto::NodeReference) -> Result<Self, Malformed> {
        use proto::node_reference::Reference;
        match message.reference {
            Some(Reference::Name(name)) => Ok(Self::Name(name)),
            Some(Reference::ProviderId(id)) => Ok(Self::ProviderId(id)),
            None => Err(Malformed::missing("reference")),
        }
    }
}
