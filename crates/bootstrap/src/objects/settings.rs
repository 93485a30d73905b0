use serde_json::Value;

use super::rbac::{BOOTSTRAPPERS, NODES, group, role_and_binding};
use super::{SYSTEM, config_map};
use crate::configuration::{Configuration, Endpoint};
use crate::expand::Facts;
use crate::{kubeadm, kubelet};

/// The ConfigMap with the cluster's settings, kubeadm's `ClusterConfiguration` as text, and the permission to
/// read it.
#[must_use]
pub fn cluster_settings(configuration: &Configuration) -> Vec<Value> {
    let mut cluster = configuration.cluster.clone();
    // With its port, so that it means the same on every node.
    if cluster.control_plane_endpoint.is_some() {
        cluster.control_plane_endpoint = Some(Endpoint::from(&configuration.server_endpoint()));
    }
    let data = vec![("ClusterConfiguration", kubeadm::cluster_configuration(&cluster))];
    let subjects = vec![group(BOOTSTRAPPERS), group(NODES)];
    let roles =
        role_and_binding(SYSTEM, "kubeadm:nodes-kubeadm-config", "configmaps", "kubeadm-config", subjects);
    std::iter::once(config_map(SYSTEM, "kubeadm-config", data, false)).chain(roles).collect()
}

/// The ConfigMap with the kubelets' configuration, and the permission to read it. Only a configuration that
/// no user has edited has the hash: an upgrade may generate it again.
#[must_use]
pub fn kubelet_settings(configuration: &Configuration, facts: &Facts) -> Vec<Value> {
    let data = vec![("kubelet", kubelet::config_map_text(configuration, facts))];
    let subjects = vec![group(NODES), group(BOOTSTRAPPERS)];
    let roles = role_and_binding(SYSTEM, "kubeadm:kubelet-config", "configmaps", "kubelet-config", subjects);
    std::iter::once(config_map(SYSTEM, "kubelet-config", data, kubelet::generated(configuration)))
        .chain(roles)
        .collect()
}
