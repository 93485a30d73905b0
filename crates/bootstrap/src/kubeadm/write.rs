//! Documents of v1beta4, as kubeadm writes them: fields with nothing in them are left out.

use serde_json::{Map, Value, json};
use slipway_resource::SecretText;

use crate::{
    configuration::{Argument, Configuration, Image, Timeouts},
    yaml,
};

mod cluster;
mod node;
mod other;

pub use cluster::cluster_configuration;

use super::kinds::{KUBE_PROXY, KUBELET, V1BETA4};
use crate::configuration::{Reset, Upgrade};

/// The documents of a configuration: `InitConfiguration` or `JoinConfiguration`, and for the former the
/// documents of the cluster, the kubelet and kube-proxy. They contain the known texts of secrets.
///
/// The end of a token cannot be written, since kubeadm takes only a time to live.
#[must_use]
pub fn write(configuration: &Configuration) -> SecretText {
    let mut documents = vec![node::node(configuration)];
    if configuration.join.is_none() {
        documents.push(cluster::value(&configuration.cluster));
        for ((version, kind), given) in
            [(KUBELET, &configuration.kubelet), (KUBE_PROXY, &configuration.kube_proxy)]
        {
            if let Some(fields) = given {
                let mut fields = fields.clone();
                fields.insert("apiVersion".to_owned(), version.into());
                fields.insert("kind".to_owned(), kind.into());
                documents.push(Value::Object(fields));
            }
        }
    }
    SecretText::new(yaml::documents(&documents))
}

/// The `ResetConfiguration` that says how a node is reset.
#[must_use]
pub fn write_reset(reset: &Reset) -> String {
    yaml::to_string(&other::reset(reset))
}

/// The `UpgradeConfiguration` that says how a cluster is upgraded.
#[must_use]
pub fn write_upgrade(upgrade: &Upgrade) -> String {
    yaml::to_string(&other::upgrade(upgrade))
}

/// A mapping of the fields that have a value.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

fn document<const N: usize>(kind: &str, fields: [(&str, Option<Value>); N]) -> Value {
    let mut value = object(fields);
    value["apiVersion"] = V1BETA4.into();
    value["kind"] = kind.into();
    value
}

fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

fn flag(on: bool) -> Option<Value> {
    on.then(|| true.into())
}

fn list<T: serde::Serialize>(items: &[T]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn arguments(arguments: &[Argument]) -> Option<Value> {
    list(arguments)
}

fn image(image: &Image) -> [(&'static str, Option<Value>); 2] {
    let value = |part: &Option<String>| part.as_deref().and_then(text);
    [("imageRepository", value(&image.repository)), ("imageTag", value(&image.tag))]
}

fn patches(directory: Option<&str>) -> Option<Value> {
    directory.map(|directory| json!({ "directory": directory }))
}

fn timeouts(timeouts: &Timeouts) -> Option<Value> {
    Some(json!({
        "controlPlaneComponentHealthCheck": timeouts.control_plane_component_health_check,
        "discovery": timeouts.discovery,
        "etcdAPICall": timeouts.etcd_api_call,
        "kubeletHealthCheck": timeouts.kubelet_health_check,
        "kubernetesAPICall": timeouts.kubernetes_api_call,
        "tlsBootstrap": timeouts.tls_bootstrap,
        "upgradeManifests": timeouts.upgrade_manifests,
    }))
}
