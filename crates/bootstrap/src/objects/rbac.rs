use serde_json::{Value, json};

use super::metadata;

/// The group of nodes that join with a token.
pub const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
/// The group of nodes.
pub const NODES: &str = "system:nodes";

const API: &str = "rbac.authorization.k8s.io/v1";

/// A group as the subject of a role.
#[must_use]
pub(crate) fn group(name: &str) -> Value {
    json!({"kind": "Group", "name": name})
}

/// A user as the subject of a role.
#[must_use]
pub(crate) fn user(name: &str) -> Value {
    json!({"kind": "User", "name": name})
}

/// A service account as the subject of a role.
#[must_use]
pub(crate) fn service_account_subject(name: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": name, "namespace": super::SYSTEM})
}

/// A service account of `kube-system`.
#[must_use]
pub(crate) fn service_account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(Some(super::SYSTEM), name)})
}

/// A role that may read one object, and its binding; both have the same name.
#[must_use]
pub fn role_and_binding(
    namespace: &str,
    name: &str,
    resource: &str,
    object: &str,
    subjects: Vec<Value>,
) -> [Value; 2] {
    let rules = json!([{
        "apiGroups": [""], "resourceNames": [object], "resources": [resource], "verbs": ["get"],
    }]);
    [
        json!({"apiVersion": API, "kind": "Role", "metadata": metadata(Some(namespace), name), "rules": rules}),
        json!({
            "apiVersion": API, "kind": "RoleBinding", "metadata": metadata(Some(namespace), name),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": subjects,
        }),
    ]
}

/// A cluster-wide role.
#[must_use]
pub(crate) fn cluster_role(name: &str, rules: Value) -> Value {
    json!({"apiVersion": API, "kind": "ClusterRole", "metadata": metadata(None, name), "rules": rules})
}

/// The binding of a cluster-wide role.
#[must_use]
pub(crate) fn cluster_binding(name: &str, role: &str, subject: Value) -> Value {
    json!({
        "apiVersion": API, "kind": "ClusterRoleBinding", "metadata": metadata(None, name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    })
}

/// The binding that makes `admin.conf` an administrator: before it exists, only `super-admin.conf` has
/// permissions.
#[must_use]
pub fn cluster_administrators() -> Value {
    let group = group(crate::pki::inventory::ADMINISTRATORS);
    cluster_binding("kubeadm:cluster-admins", "cluster-admin", group)
}

/// Lets joining nodes check whether a node of their name exists already.
#[must_use]
pub fn node_readers() -> [Value; 2] {
    let rules = json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]);
    [
        cluster_role("kubeadm:get-nodes", rules),
        cluster_binding("kubeadm:get-nodes", "kubeadm:get-nodes", group(BOOTSTRAPPERS)),
    ]
}

/// Lets nodes request their certificates, have the first one approved, and renew it.
#[must_use]
pub fn node_approval() -> [Value; 3] {
    let approval = |kind: &str| format!("system:certificates.k8s.io:certificatesigningrequests:{kind}");
    [
        cluster_binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", group(BOOTSTRAPPERS)),
        cluster_binding("kubeadm:node-autoapprove-bootstrap", &approval("nodeclient"), group(BOOTSTRAPPERS)),
        cluster_binding(
            "kubeadm:node-autoapprove-certificate-rotation",
            &approval("selfnodeclient"),
            group(NODES),
        ),
    ]
}
