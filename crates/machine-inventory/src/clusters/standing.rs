//! Whether the endpoint of a control plane depends on a single host.

use crate::api::ElementalCluster;
use crate::conditions::{Draft, ENDPOINT_REDUNDANT};
use crate::election::Elected;

/// Says that several machines of a control plane share the address of one host. The endpoint of a user is taken for a
/// load balancer or a virtual address.
pub(super) fn redundancy(cluster: &ElementalCluster, machines: usize, draft: &mut Draft) {
    if Elected::of(&cluster.metadata).is_none() || machines < 2 {
        draft.remove(ENDPOINT_REDUNDANT);
        return;
    }
    let message = format!(
        "the endpoint is an address of one host, and {machines} machines serve the control plane: there is no load \
         balancing. To change that, create the cluster with a virtual address (kube-vip) or a load balancer in \
         spec.controlPlaneEndpoint"
    );
    draft.set(ENDPOINT_REDUNDANT, false, "SingleHost", message);
}
