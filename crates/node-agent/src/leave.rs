//! The Node of a worker that leaves its cluster: whether it is this machine's, and whether this machine may
//! remove it.
//!
//! A control plane has an administrator's credentials, and its Node is in its own state. A worker has those
//! of its kubelet. Kubernetes lets a kubelet change its Node and not delete it. Otherwise an attacker on the
//! machine could register the node again without its taints.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_plan::{Providers, Record, Snapshot};
use slipway_provider_kubernetes::NODE;
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Identity, Value};
use tokio::time::Instant;

use super::api::{Api, ApiError};
use super::discovery::patiently;
use super::facts::{self, below};
use crate::code;
use crate::error::Error;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// How long the API is tried when the Node may also stay.
const SHORT: Duration = Duration::from_secs(10);

/// What happens to the Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The state has the Node, or there is none.
    AsKnown,
    /// The Node is drained and removed.
    Removed(String),
    /// The Node stays in the cluster, for this reason.
    Stays {
        /// The Node.
        name: String,
        /// The reason.
        why: String,
    },
}

impl Leaving {
    /// Looks at the Node of a worker, with a kubeconfig that was given for it, or with the kubelet's.
    ///
    /// # Errors
    /// When the kubeconfig that was given cannot be used, or may not remove the Node.
    pub async fn of_worker(root: &Path, name: &str, given: Option<&PathBuf>) -> Result<Self, Error> {
        if let Some(path) = given {
            let api = Api::of_file(root, path)?;
            return match look(&api, name, Duration::from_secs(60)).await? {
                Self::Stays { why, .. } => Err(Error::new(
                    code::NODE_OBJECT,
                    format!("the Node {name} cannot be removed; nothing was done"),
                )
                .cause(why)
                .hint("name a kubeconfig that may with --kubeconfig, or leave the Node with --offline")),
                leaving => Ok(leaving),
            };
        }
        let path = below(root, "/etc/kubernetes/kubelet.conf");
        if !path.exists() {
            // The machine never became a node, or its kubeconfig was removed.
            return Ok(Self::AsKnown);
        }
        let looked = match Api::of_file(root, &path) {
            Ok(api) => look(&api, name, SHORT).await,
            Err(error) => Err(error),
        };
        Ok(looked.unwrap_or_else(|error| Self::Stays { name: name.to_owned(), why: error.to_string() }))
    }

    /// The notes in the plan about a Node that stays, with the ways to remove it.
    pub fn notes(&self) -> Vec<ExpandNote> {
        let Self::Stays { name, why } = self else { return Vec::new() };
        let message = format!(
            "it stays in the cluster and is not drained: {why}; `--kubeconfig FILE` names credentials that may remove it, and from elsewhere `kubectl drain {name}` and `kubectl delete node {name}` do"
        );
        vec![ExpandNote { field: Address::new(NODE, name.as_str()).to_string(), message }]
    }

    /// Adds a Node that is removed to the machine's snapshot. It depends on all other resources, and is
    /// removed first.
    pub fn remember(&self, snapshot: &mut Snapshot, providers: &Providers) {
        let Self::Removed(name) = self else { return };
        let Some((provider, kind)) = providers.iter().find_map(|(provider, handle)| {
            Some((provider.to_owned(), handle.schema.types.get(NODE)?.clone()))
        }) else {
            return;
        };
        let record = Record {
            provider,
            schema_version: kind.version,
            identity: Identity::new(format!("Node//{name}")),
            applied: Some(Value::map([("name", Value::from(name.as_str()))])),
            depends_on: snapshot.resources.keys().cloned().collect(),
            retain: false,
            protected: false,
            existing: false,
            as_found: std::collections::BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        };
        snapshot.resources.entry(Address::new(NODE, name.as_str())).or_insert(record);
    }
}

async fn look(api: &Api, name: &str, patience: Duration) -> Result<Leaving, ApiError> {
    let until = Instant::now() + patience;
    let path = format!("/api/v1/nodes/{name}");
    let Some(node) = patiently(until, || api.find(&path)).await? else { return Ok(Leaving::AsKnown) };
    let stays = |why: String| Leaving::Stays { name: name.to_owned(), why };
    let own: Vec<IpAddr> = facts::addresses();
    if !is_of_machine(&node, &own) {
        let theirs: Vec<String> = addresses(&node).map(|address| address.to_string()).collect();
        return Ok(stays(format!("it is another machine's, at {}", theirs.join(", "))));
    }
    let question = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes", "name": name}}});
    let answer = patiently(until, || api.post(REVIEWS, &question)).await?;
    if answer.pointer("/status/allowed").and_then(Json::as_bool) == Some(true) {
        return Ok(Leaving::Removed(name.to_owned()));
    }
    Ok(stays("the credentials of this node may not remove it".to_owned()))
}

fn addresses(node: &Json) -> impl Iterator<Item = IpAddr> {
    let all = node.pointer("/status/addresses").and_then(Json::as_array).into_iter().flatten();
    all.filter_map(|entry| entry.get("address")?.as_str()?.parse().ok())
}

/// Whether a Node is of the machine with these addresses. A Node without addresses is taken to be.
fn is_of_machine(node: &Json, own: &[IpAddr]) -> bool {
    addresses(node).next().is_none() || addresses(node).any(|address| own.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_at_another_address_is_another_machines() {
        let node = |address: &str| json!({"status": {"addresses": [{"type": "Hostname", "address": "w-0"}, {"type": "InternalIP", "address": address}]}});
        let own = ["127.0.0.1", "10.0.0.5"].map(|address| address.parse().unwrap());
        assert!(is_of_machine(&node("10.0.0.5"), &own));
        assert!(!is_of_machine(&node("10.0.0.6"), &own));
        assert!(is_of_machine(&json!({}), &own));
    }

    #[test]
    fn a_node_that_stays_is_told_with_the_ways_out() {
        let stays = Leaving::Stays { name: "w-0".to_owned(), why: "nobody may".to_owned() };
        let notes = stays.notes();
        let note = &notes[0];
        assert_eq!(note.field, "kubernetes_node.w-0");
        assert!(
            note.message.contains("nobody may") && note.message.contains("--kubeconfig"),
            "{}",
            note.message
        );
        assert!(Leaving::Removed("w-0".to_owned()).notes().is_empty() && Leaving::AsKnown.notes().is_empty());
    }
}
