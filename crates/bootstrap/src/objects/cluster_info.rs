use serde_json::{Value, json};

use super::rbac::role_and_binding;
use super::{PUBLIC, config_map};
use crate::yaml;

/// The kubeconfig that anonymous users may read: the cluster's address and its CA, base64 over PEM.
#[must_use]
pub fn cluster_info_kubeconfig(server: &str, authority_base64: &str) -> String {
    yaml::to_string(&json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "", "cluster": {"certificate-authority-data": authority_base64, "server": server}}],
        "contexts": null, "current-context": "", "users": null,
    }))
}

/// The ConfigMap with which a joining node finds the cluster. The holder of a token or the controller manager
/// signs it.
#[must_use]
pub fn cluster_info(kubeconfig: String) -> Value {
    config_map(PUBLIC, "cluster-info", vec![("kubeconfig", kubeconfig)], false)
}

/// Lets anonymous users read it: discovery happens before there are credentials.
#[must_use]
pub fn cluster_info_roles() -> [Value; 2] {
    let subjects = vec![json!({"kind": "User", "name": "system:anonymous"})];
    role_and_binding(PUBLIC, "kubeadm:bootstrap-signer-clusterinfo", "configmaps", "cluster-info", subjects)
}
