//! API objects of a new cluster, as JSON values: settings that joining nodes read, tokens, and permissions to
//! read.
//!
//! They are the objects that kubeadm posts, without the fields that only the server sets (`status`,
//! `resourceVersion`).

mod api_server_readers;
mod bound;
mod certificates;
mod cluster_info;
mod passing;
pub(crate) mod rbac;
mod settings;
mod token;
mod virtual_address;

use aws_lc_rs::digest;
use serde_json::{Map, Value, json};
use slipway_resource::hexadecimal;

pub use api_server_readers::api_server_readers;
pub use bound::bound_bootstrappers;
pub use certificates::{OWNER_DESCRIPTION, certificates_owner, certificates_roles, shared_certificates};
pub use cluster_info::{cluster_info, cluster_info_kubeconfig, cluster_info_roles};
pub use passing::{is_passing, is_token};
pub use rbac::{BOOTSTRAPPERS, NODES, cluster_administrators, node_approval, node_readers, role_and_binding};
pub use settings::{cluster_settings, kubelet_settings};
pub use token::{TokenObject, bootstrap_token};
pub use virtual_address::{VIRTUAL_ADDRESS_LEASE, VIRTUAL_ADDRESS_USER, virtual_address_holders};

/// The annotation with the hash of a generated configuration, which no user has edited.
pub const HASH_ANNOTATION: &str = "kubeadm.kubernetes.io/component-config.hash";
/// The namespace of a cluster's own components.
pub const SYSTEM: &str = "kube-system";
/// The namespace that all users may read.
pub const PUBLIC: &str = "kube-public";

/// The hash over a ConfigMap's values, in the order of their keys.
#[must_use]
pub fn hash<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for value in values {
        context.update(value.as_bytes());
    }
    format!("sha256:{}", hexadecimal(context.finish().as_ref()))
}

/// An object's metadata.
#[must_use]
pub(crate) fn metadata(namespace: Option<&str>, name: &str) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    metadata
}

/// A ConfigMap; with `signed`, with the hash that marks its values as generated.
#[must_use]
pub(crate) fn config_map(namespace: &str, name: &str, data: Vec<(&str, String)>, signed: bool) -> Value {
    let data: Map<String, Value> =
        data.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
    let mut metadata = metadata(Some(namespace), name);
    if signed {
        let mut keys: Vec<&String> = data.keys().collect();
        keys.sort();
        let values = keys.into_iter().filter_map(|key| data.get(key)?.as_str());
        let annotations: Map<String, Value> =
            [(HASH_ANNOTATION.to_owned(), hash(values).into())].into_iter().collect();
        metadata["annotations"] = annotations.into();
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

#[cfg(test)]
mod tests;
