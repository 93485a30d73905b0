//! Whether the nodes of a cluster have node-local balancers. The catalog pins it: a cluster changes only when its spec asks.

use slipway_cluster_input::{ClusterInput, Endpoint, Profile, VirtualIpHolder};

use crate::facts::SeenNode;

/// What the nodes of a cluster have whose state is lost.
pub(super) fn of_nodes(nodes: &[Option<SeenNode>]) -> Option<bool> {
    nodes.iter().flatten().any(|node| node.has_balancer).then_some(true)
}

/// What a new cluster gets unless its spec says otherwise. With several control planes and no address in front of them, or one that a
/// single host has at a time, that host would be needed by all nodes.
pub(super) fn of_new(cluster: &ClusterInput, control_planes: usize) -> Option<bool> {
    let is_one_host = match &cluster.control_plane.endpoint {
        Endpoint::Elected {} => true,
        Endpoint::VirtualIp(address) => address.holder == VirtualIpHolder::Slipway,
        Endpoint::Given(_) | Endpoint::LoadBalancer(_) => false,
    };
    (cluster.profile == Profile::Slipway && is_one_host && control_planes > 1).then_some(true)
}

/// What nodes have: what the spec says, otherwise what the cluster has. A cluster that never had balancers is not changed by a
/// spec that wants none.
pub(super) const fn as_asked(asked: Option<bool>, present: Option<bool>) -> Option<bool> {
    match (asked, present) {
        (Some(true), _) => Some(true),
        (Some(false), Some(_)) => Some(false),
        (Some(false), None) => None,
        (None, present) => present,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_balancers_as_asked_and_otherwise_as_before() {
        for (asked, present, wanted) in [
            (None, None, None),
            (None, Some(true), Some(true)),
            (None, Some(false), Some(false)),
            (Some(true), None, Some(true)),
            (Some(true), Some(false), Some(true)),
            (Some(false), Some(true), Some(false)),
            (Some(false), None, None),
        ] {
            assert_eq!(as_asked(asked, present), wanted, "{asked:?} {present:?}");
        }
        let node = |has_balancer| Some(SeenNode { has_balancer, ..SeenNode::default() });
        assert_eq!(of_nodes(&[None, node(false), node(true)]), Some(true));
        assert_eq!(of_nodes(&[None, node(false)]), None);
    }

    #[test]
    fn a_new_cluster_has_balancers_where_one_host_would_be_the_endpoint_of_all() {
        let cluster = |profile: &str, endpoint: &str| -> ClusterInput {
            let text = format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: hosts }}\n  \
                 profile: {profile}\n  kubernetesVersion: 1.34.4\n  controlPlane: {{ endpoint: {{ {endpoint} }} }}\n---\n\
                 apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: cp }}\nspec:\n  role: controlPlane\n  \
                 size: {{ fixed: 3 }}\n  hosts: {{ inventory: rack }}\n"
            );
            let file = slipway_spec::source::SourceFile::new("spec.yaml", text);
            slipway_spec::load_files(vec![file], &[]).clusters.remove(0).into()
        };
        assert_eq!(of_new(&cluster("slipway", "elected: {}"), 3), Some(true));
        assert_eq!(of_new(&cluster("slipway", "elected: {}"), 1), None);
        assert_eq!(of_new(&cluster("kubeadm", "elected: {}"), 3), None);
        assert_eq!(of_new(&cluster("slipway", "given: { host: api.example.com }"), 3), None);
        let address = |holder: &str| format!("virtualIp: {{ address: 10.0.0.40, holder: {holder} }}");
        assert_eq!(of_new(&cluster("slipway", &address("slipway")), 3), Some(true));
        assert_eq!(of_new(&cluster("slipway", &address("kubeVip")), 3), None);
    }
}
