//! What has to be looked at on machines before they become nodes of a cluster.

use std::collections::BTreeMap;

use slipway_spec::model::Cluster;

use super::configuration::{is_control_plane, of_machine};
use super::{FromClusterError, Placement, endpoint};
use crate::preflight::{Purpose, Questions};

/// The runtime that is expected where none was found.
const CONTAINERD: &str = "unix:///var/run/containerd/containerd.sock";

/// The questions of kubeadm's checks for every machine of a cluster, by the machine's name.
///
/// Images are not asked for: a runtime that does not have them fetches them.
///
/// # Errors
/// When the cluster cannot be on these machines.
pub fn questions(
    cluster: &Cluster,
    placement: &Placement,
) -> Result<BTreeMap<String, Questions>, FromClusterError> {
    let endpoint = endpoint(cluster, placement)?;
    let of = |machine: &super::Machine| {
        let purpose = match (is_control_plane(cluster, machine), machine.founding) {
            (true, true) => Purpose::Init,
            (true, false) => Purpose::JoinControlPlane,
            (false, _) => Purpose::JoinWorker,
        };
        let configuration = of_machine(cluster, placement, &endpoint, machine);
        let mut questions = Questions::of(&configuration, purpose);
        questions.images.clear();
        questions.cri_socket = match configuration.node.cri_socket.clone() {
            None if machine.cri_sockets.is_empty() => Some(CONTAINERD.to_owned()),
            chosen => chosen,
        };
        (machine.name.clone(), questions)
    };
    Ok(placement.machines.iter().map(of).collect())
}
