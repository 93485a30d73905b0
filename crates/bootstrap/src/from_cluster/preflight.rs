//! Preflight questions for machines before they become nodes of a cluster.

use std::collections::BTreeMap;

use slipway_cluster_input::ClusterInput;

use super::configuration::{is_control_plane, of_machine};
use super::programs::{brings_runtime, kubelet};
use super::{FromClusterError, Placement, endpoint};
use crate::configuration::Configuration;
use crate::preflight::{Purpose, Questions};
use crate::version::Images;

/// The runtime that is expected where none was found.
const CONTAINERD: &str = "unix:///var/run/containerd/containerd.sock";

/// The questions of kubeadm's checks for every machine of a cluster, by the machine's name.
///
/// Images are those of the cluster's own parts that run on the machine. The runtime has an image of its own for pods.
///
/// # Errors
/// When the cluster cannot be on these machines.
pub fn questions(
    cluster: &ClusterInput,
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
        questions.images = images(&configuration, questions.purpose);
        questions.kubelet_version = kubelet(cluster, machine).map(|kubelet| format!("v{}", kubelet.version));
        questions.cri_socket = match configuration.node.cri_socket.clone() {
            // It is installed by the plan.
            _ if brings_runtime(cluster, machine) => None,
            None if machine.cri_sockets.is_empty() => Some(CONTAINERD.to_owned()),
            chosen => chosen,
        };
        (machine.name.clone(), questions)
    };
    Ok(placement.machines.iter().map(of).collect())
}

/// The images of the cluster's own parts on a machine.
fn images(configuration: &Configuration, purpose: Purpose) -> Vec<String> {
    let settings = &configuration.cluster;
    let all = Images::of(settings);
    let mut images = match purpose.is_control_plane() {
        true => all.for_control_plane(settings),
        false if settings.proxy.disabled => Vec::new(),
        false => vec![all.kube_proxy.clone()],
    };
    images.retain(|image| *image != all.pause);
    images
}
