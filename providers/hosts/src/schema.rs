//! The resource types: claims and agents of hosts, and those of a node with the host that they are on.

use std::collections::BTreeMap;

use slipway_resource::schema::{Durations, OwnershipKind, Part, Role, attributes};
use slipway_resource::{Attribute, ResourceType, Schema, Type};

/// A host that a cluster has taken from its inventory.
pub const CLAIM: &str = "host_claim";

/// The agent of a host.
pub const AGENT: &str = "host_agent";

/// The attribute that names the host.
pub const HOST: &str = "host";

/// The pace class of claims.
pub(crate) const INVENTORY_CLASS: &str = "inventory";

/// The pace class of agents.
pub(crate) const TRANSFER_CLASS: &str = "transfer";

/// All types.
pub(crate) fn schema(node: &Schema) -> Schema {
    let on_host = || Attribute::required(Type::String).immutable().describe("The host that it is on.");
    let mut types: BTreeMap<String, ResourceType> = node
        .types
        .iter()
        .map(|(name, kind)| {
            let mut kind = kind.clone();
            kind.attributes.insert(HOST.to_owned(), on_host());
            // An object that is unique on a node is unique on each host.
            if !kind.exclusive.is_empty() {
                kind.exclusive.push(HOST.to_owned());
            }
            (name.clone(), kind)
        })
        .collect();
    types.insert(
        CLAIM.to_owned(),
        own(
            "A host that the cluster has claimed from its inventory. No other cluster can claim it until it is released.",
            INVENTORY_CLASS,
            Durations { create_ms: 500, update_ms: 500, delete_ms: 500 },
            [
                (HOST, Attribute::required(Type::String).immutable().describe("The host.")),
                (
                    "inventory",
                    Attribute::required(Type::String).immutable().describe("The inventory it belongs to."),
                ),
            ],
        ),
    );
    types.insert(
        AGENT.to_owned(),
        own(
            "The agent on a host, which does the work inside it.",
            TRANSFER_CLASS,
            Durations { create_ms: 5_000, update_ms: 5_000, delete_ms: 1_000 },
            [
                (HOST, Attribute::required(Type::String).immutable().describe("The host.")),
                (
                    "sha256",
                    Attribute::optional_computed(Type::String)
                        .describe("The digest of its executable; none where an agent runs already."),
                ),
            ],
        ),
    );
    for (kind, part) in [(CLAIM, Part::HostClaim), (AGENT, Part::HostAgent)] {
        if let Some(kind) = types.get_mut(kind) {
            kind.roles.push(Role::of_all(part));
        }
    }
    Schema { config: crate::config::schema(), types }
}

fn own<const N: usize>(
    description: &str,
    rate_class: &str,
    durations: Durations,
    all: [(&str, Attribute); N],
) -> ResourceType {
    ResourceType {
        attributes: attributes(all),
        durations,
        ..ResourceType::new(description, OwnershipKind::Name, rate_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_cluster_are_declared() {
        let schema = schema(&slipway_provider_node::Node::new().types());
        let part = |kind: &str, name: &str| schema.types[kind].part(name);
        assert_eq!(part("static_pod", "cp-1/kube-apiserver"), Some(Part::ApiServer));
        assert_eq!(part("static_pod", "cp-1/etcd"), None);
        assert_eq!(part("service", "cp-1/kubelet"), Some(Part::Kubelet));
        assert_eq!(part("service", "cp-1/containerd"), None);
        assert_eq!(part("etcd_member", "cp-1/etcd"), Some(Part::EtcdMember));
        assert_eq!(part("etcd_voter", "cp-1/etcd"), Some(Part::EtcdVoter));
        assert_eq!(part(CLAIM, "cp-1"), Some(Part::HostClaim));
        assert_eq!(part(AGENT, "cp-1"), Some(Part::HostAgent));
        assert_eq!(part("file", "cp-1/kube-apiserver"), None);
    }
}
