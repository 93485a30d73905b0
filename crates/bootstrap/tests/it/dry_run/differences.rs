//! Allowed differences from kubeadm's dry run, each with its reason. Everything else must be equal.

use serde_json::Value;

/// A place in objects of a kind that only one side has, or that both have differently.
pub struct Difference {
    /// The object, as `Kind/namespace/name`; `*` for every one, and at the end of a name for the rest of it.
    pub object: &'static str,
    /// The path in it, as `metadata.resourceVersion`; empty for the object itself.
    pub path: &'static str,
    /// Why it differs.
    pub reason: &'static str,
}

/// Placeholder for the names of all members in a joining member's manifest.
pub const FIRST_MEMBER: &str = "(members)";

/// The whole list.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        object: "*",
        path: "status",
        reason: "set by the server alone; server-side apply has no use for zeros",
    },
    Difference {
        object: "Service/kube-system/kube-dns",
        path: "metadata.resourceVersion",
        reason: "set by the server alone",
    },
    Difference {
        object: "ClusterRoleBinding//kubeadm:cluster-admins",
        path: "",
        reason: "kubeadm makes it with super-admin.conf while it waits for the API server, which a dry run leaves out",
    },
    Difference {
        object: "Secret/kube-system/bootstrap-token-*",
        path: "data.expiration",
        reason: "counted from the time of the run",
    },
    Difference {
        object: "Secret/kube-system/kubeadm-certs",
        path: "data.*",
        reason: "ciphertexts with nonces of their own; a dry run of kubeadm has null for each of them",
    },
    Difference {
        object: "Secret/kube-system/kubeadm-certs",
        path: "metadata.ownerReferences.0.uid",
        reason: "the owner's uid, which nobody knows before it is there",
    },
    Difference {
        object: "ConfigMap/kube-public/cluster-info",
        path: "data.kubeconfig.certificate-authority-data",
        reason: "key material; ours is the output of another resource",
    },
];

/// Whether an object is on the list as a whole.
pub fn is_listed(object: &str) -> bool {
    DIFFERENCES.iter().any(|difference| difference.path.is_empty() && fits(difference.object, object))
}

/// The object without what may differ.
pub fn without(object: &str, mut value: Value) -> Value {
    for difference in DIFFERENCES.iter().filter(|difference| fits(difference.object, object)) {
        let parts: Vec<&str> = difference.path.split('.').collect();
        remove(&mut value, &parts);
    }
    value
}

/// Takes away what is at a path; `*` empties every value of a mapping and leaves its keys.
fn remove(value: &mut Value, path: &[&str]) {
    match (path, value) {
        (["*"], Value::Object(entries)) => entries.values_mut().for_each(|value| *value = Value::Null),
        ([last], Value::Object(entries)) => drop(entries.remove(*last)),
        ([first, rest @ ..], Value::Object(entries)) => {
            if let Some(inner) = entries.get_mut(*first) {
                remove(inner, rest);
            }
        }
        ([first, rest @ ..], Value::Array(items)) => {
            if let Some(inner) = first.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                remove(inner, rest);
            }
        }
        _ => {}
    }
}

fn fits(pattern: &str, object: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => object.starts_with(beginning),
        None => pattern == object,
    }
}

#[test]
fn every_difference_has_a_reason() {
    assert!(DIFFERENCES.iter().all(|difference| difference.reason.len() > 10));
}
