//! The clusters that are made: their clients, their Nodes, and their documents that name the endpoint.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_cluster_api::KubeconfigText;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use slipway_controller::kube::api::{Patch, PatchParams};
use slipway_controller::kube::{self, Api, Client};
use slipway_resource::SecretText;

use crate::context::Context;
use crate::core_api::Cluster;
use crate::world::{name, namespace};
use crate::writing::versioned;

/// How long a request to a cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The taint of a node that no cloud controller has initialised.
pub const UNINITIALISED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The documents of a kubeadm cluster that name the endpoint: namespace, name and key of a ConfigMap.
const DOCUMENTS: [(&str, &str, &str); 3] = [
    ("kube-public", "cluster-info", "kubeconfig"),
    ("kube-system", "kubeadm-config", "ClusterConfiguration"),
    ("kube-system", "kube-proxy", "kubeconfig.conf"),
];

/// A cluster that was made cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The management cluster gives no kubeconfig.
    #[error("the secret {0} with the kubeconfig of the cluster does not exist")]
    NoKubeconfig(String),
    /// The kubeconfig cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// There is no answer in time.
    #[error("the API of the cluster gave no answer in {PATIENCE:?}")]
    Silent,
    /// The API of the cluster refused.
    #[error("the API of the cluster: {0}")]
    Api(kube::Error),
}

/// Clients by the namespace and the name of a secret, each with the version of the secret that it was made from.
type Clients = HashMap<(String, String), (Option<String>, Client)>;

/// Clients of clusters, by the secret with their kubeconfig.
#[derive(Default)]
pub(crate) struct Workloads {
    clients: Mutex<Clients>,
}

impl Workloads {
    /// The client of a cluster.
    async fn client(&self, management: &Client, cluster: &Cluster) -> Result<Client, WorkloadError> {
        let place = (namespace(&cluster.metadata).to_owned(), kubeconfig_name(cluster));
        let secrets: Api<Secret> = Api::namespaced(management.clone(), &place.0);
        let secret = secrets.get_opt(&place.1).await.map_err(WorkloadError::Api)?;
        let secret = secret.ok_or_else(|| WorkloadError::NoKubeconfig(place.1.clone()))?;
        let version = secret.metadata.resource_version.clone();
        if let Some((known, client)) = self.clients.lock().unwrap_or_else(PoisonError::into_inner).get(&place)
            && *known == version
        {
            return Ok(client.clone());
        }
        let bytes = secret.data.and_then(|mut data| data.remove("value")).unwrap_or_default().0;
        let text = String::from_utf8(bytes).map_err(|_| WorkloadError::NoKubeconfig(place.1.clone()))?;
        let text = SecretText::new(text);
        // Cluster API writes it: it may name no command and no file, and its server may be anywhere.
        let kubeconfig = KubeconfigText { text: &text, context: None, is_callers: false, networks: None };
        let client = slipway_cluster_api::Client::by(&kubeconfig).await;
        let client = client.map_err(|error| WorkloadError::Unusable(error.to_string()))?.typed();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.insert(place, (version, client.clone()));
        Ok(client)
    }
}

/// The name of the secret with the kubeconfig of a cluster.
pub(crate) fn kubeconfig_name(cluster: &Cluster) -> String {
    format!("{}-kubeconfig", name(&cluster.metadata))
}

/// A document with another endpoint: `before` and `now` are `host:port`, and only whole ones are replaced.
fn with_server(text: &str, before: &str, now: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(before) {
        let (left, found) = rest.split_at(place);
        let right = &found[before.len()..];
        let belongs = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
        let whole = !left.ends_with(belongs) && !right.starts_with(belongs);
        changed.push_str(left);
        changed.push_str(if whole { now } else { before });
        rest = right;
    }
    changed.push_str(rest);
    changed
}

/// A document in which none of the old endpoints is left.
pub(crate) fn with_endpoint(text: &str, before: &[&str], now: &str) -> String {
    before.iter().fold(text.to_owned(), |text, before| with_server(&text, before, now))
}

/// Changes the documents of a cluster that name its endpoint. Documents that do not exist are no problem.
pub(crate) async fn move_endpoint(
    context: &Context,
    cluster: &Cluster,
    before: &[&str],
    now: &str,
) -> Result<(), WorkloadError> {
    let client = context.workloads.client(&context.client, cluster).await?;
    for (place, map, key) in DOCUMENTS {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), place);
        let Some(found) = patiently(maps.get_opt(map)).await? else { continue };
        let Some(text) = found.data.as_ref().and_then(|data| data.get(key)) else { continue };
        let changed = with_endpoint(text, before, now);
        if changed != *text {
            let patch =
                versioned(found.metadata.resource_version.as_deref(), json!({"data": {key: changed}}));
            patiently(maps.patch(map, &PatchParams::default(), &Patch::Merge(&patch))).await?;
        }
    }
    Ok(())
}

/// Gives a Node its provider id, and removes the taint of nodes without one. Returns `false` if there is no such Node.
pub(crate) async fn initialise_node(
    context: &Context,
    cluster: &Cluster,
    node: &str,
    provider_id: &str,
) -> Result<bool, WorkloadError> {
    let client = context.workloads.client(&context.client, cluster).await?;
    let nodes: Api<Node> = Api::all(client);
    let Some(found) = patiently(nodes.get_opt(node)).await? else { return Ok(false) };
    if let Some(patch) = node_patch(&found, provider_id) {
        patiently(nodes.patch(node, &PatchParams::default(), &Patch::Merge(&patch))).await?;
    }
    Ok(true)
}

/// The patch of a Node; `None` if it is as it should be. A provider id is never changed.
fn node_patch(node: &Node, provider_id: &str) -> Option<Json> {
    let spec = node.spec.as_ref();
    let has_id = spec.and_then(|spec| spec.provider_id.as_deref()).is_some_and(|id| !id.is_empty());
    let taints = spec.and_then(|spec| spec.taints.clone()).unwrap_or_default();
    let kept: Vec<_> = taints.iter().filter(|taint| taint.key != UNINITIALISED).collect();
    if has_id && kept.len() == taints.len() {
        return None;
    }
    let mut spec = json!({ "taints": kept });
    if !has_id {
        spec["providerID"] = json!(provider_id);
    }
    Some(versioned(node.metadata.resource_version.as_deref(), json!({ "spec": spec })))
}

async fn patiently<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, WorkloadError> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(answer) => answer.map_err(WorkloadError::Api),
        Err(_) => Err(WorkloadError::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_endpoint_is_replaced() {
        let changed = |text: &str| with_server(text, "10.0.0.1:6443", "[fd00::2]:6443");
        assert_eq!(changed("server: https://10.0.0.1:6443\n"), "server: https://[fd00::2]:6443\n");
        assert_eq!(changed("controlPlaneEndpoint: 10.0.0.1:6443"), "controlPlaneEndpoint: [fd00::2]:6443");
        assert_eq!(changed("110.0.0.1:6443 10.0.0.1:64430"), "110.0.0.1:6443 10.0.0.1:64430");
        assert_eq!(changed("a 10.0.0.1:6443 b 10.0.0.1:6443"), "a [fd00::2]:6443 b [fd00::2]:6443");
    }

    #[test]
    fn a_node_gets_its_provider_id_once() {
        let node = |spec: Json| -> Node {
            serde_json::from_value(json!({"metadata": {"name": "n"}, "spec": spec})).unwrap()
        };
        let taint = json!({"key": UNINITIALISED, "effect": "NoSchedule"});
        let other = json!({"key": "example.com/other", "effect": "NoSchedule"});
        let new = node_patch(&node(json!({"taints": [taint, other]})), "elemental://a/b").unwrap();
        assert_eq!(new["spec"], json!({"taints": [other], "providerID": "elemental://a/b"}));
        assert!(
            node_patch(&node(json!({"providerID": "elemental://x/y", "taints": [other]})), "elemental://a/b")
                .is_none()
        );
    }
}
