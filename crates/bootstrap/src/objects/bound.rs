use serde_json::{Value, json};

use super::SYSTEM;
use crate::token::BOUND_GROUP;

/// The permissions of machines that join with a token bound to a node's name: to request a certificate, and
/// to read the settings for joining machines. Kubernetes' own controllers do not approve their requests.
#[must_use]
pub fn bound_bootstrappers() -> Vec<Value> {
    let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": BOUND_GROUP}]);
    let role_ref =
        |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    let cluster = |name: &str, role: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": role_ref("ClusterRole", role), "subjects": subjects})
    };
    let system = |role: &str| {
        let name = format!("slipway:bound:{}", role.trim_start_matches("kubeadm:"));
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": SYSTEM}, "roleRef": role_ref("Role", role), "subjects": subjects})
    };
    vec![
        cluster("slipway:bound:kubelet-bootstrap", "system:node-bootstrapper"),
        cluster("slipway:bound:get-nodes", "kubeadm:get-nodes"),
        system("kubeadm:nodes-kubeadm-config"),
        system("kubeadm:kubelet-config"),
        system("kube-proxy"),
        system("kubeadm:kubeadm-certs"),
    ]
}
