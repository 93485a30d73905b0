//! The cluster's knowledge about a machine that asks: whether its node is ready, and its earlier key.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{DOCUMENT, POOLS, document_name};
use slipway_resource::Digest;

use super::pools::Pools;
use crate::api::{Api, ApiError};
use crate::join;

/// The ConfigMaps with the list of pools, and those that bind a machine to one node and one key.
const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
/// The label of these objects.
const LABEL: &str = "slipway.dev/machine-binding";

/// A machine, the node that it is, and the key that it has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The machine, by the cloud's name for it.
    pub machine: String,
    /// The name of its node.
    pub node: String,
    /// The digest of its public key.
    pub key: String,
}

/// The cluster, as the endpoint needs it.
#[async_trait]
pub trait Registry: Send + Sync {
    /// Whether a node of this name is ready.
    async fn is_live(&self, node: &str) -> Result<bool, ApiError>;

    /// The pools whose machines may become nodes; `None` while the cluster has no list of them.
    async fn pools(&self) -> Result<Option<Pools>, ApiError>;

    /// The bootstrap document of a pool; `None` while the cluster has none.
    async fn document(&self, pool: &str) -> Result<Option<String>, ApiError>;

    /// Binds a machine. The answer is the binding that it has, from now or from before.
    async fn bind(&self, wanted: &Binding, now: Timestamp) -> Result<Binding, ApiError>;

    /// Forgets bindings that are older than this.
    async fn forget(&self, age: Duration, now: Timestamp) -> Result<(), ApiError>;
}

#[async_trait]
impl Registry for Api {
    async fn is_live(&self, node: &str) -> Result<bool, ApiError> {
        join::is_ready(node, self).await
    }

    async fn pools(&self) -> Result<Option<Pools>, ApiError> {
        Ok(self.find(&format!("{CONFIG_MAPS}/{POOLS}")).await?.as_ref().map(Pools::of))
    }

    async fn document(&self, pool: &str) -> Result<Option<String>, ApiError> {
        let found = self.find(&format!("{CONFIG_MAPS}/{}", document_name(pool))).await?;
        Ok(found.and_then(|object| object["data"][DOCUMENT].as_str().map(str::to_owned)))
    }

    async fn bind(&self, wanted: &Binding, now: Timestamp) -> Result<Binding, ApiError> {
        let Binding { machine, node, key } = wanted;
        let name = name_of(machine);
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {LABEL: "true"}},
            "data": {"machine": machine, "node": node, "key": key, "at": now.as_second().to_string()},
        });
        match self.post(CONFIG_MAPS, &object).await {
            Ok(_) => Ok(wanted.clone()),
            Err(error) if error.status() == Some(409) => {
                let found = self.get(&format!("{CONFIG_MAPS}/{name}")).await?.body;
                let text = |field: &str| found["data"][field].as_str().unwrap_or_default().to_owned();
                Ok(Binding { machine: text("machine"), node: text("node"), key: text("key") })
            }
            Err(error) => Err(error),
        }
    }

    async fn forget(&self, age: Duration, now: Timestamp) -> Result<(), ApiError> {
        let found = self.get(&format!("{CONFIG_MAPS}?labelSelector={LABEL}%3Dtrue")).await?.body;
        let before = now.as_second().saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        let objects = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        for name in objects.iter().filter(|object| is_older(object, before)).filter_map(name) {
            match self.delete(&format!("{CONFIG_MAPS}/{name}")).await {
                Err(error) if error.status() != Some(404) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_older(object: &Json, before: i64) -> bool {
    let at = object["data"]["at"].as_str().and_then(|text| text.parse::<i64>().ok());
    at.is_some_and(|at| at < before)
}

fn name(object: &Json) -> Option<&str> {
    object["metadata"]["name"].as_str()
}

/// The name of the object for a machine: clouds call machines as they like.
fn name_of(machine: &str) -> String {
    let digest = Digest::of_bytes(machine.as_bytes());
    format!("slipway-machine-{}", digest.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_bindings_are_told_from_new_ones() {
        let object = |at: &str| json!({"metadata": {"name": "a"}, "data": {"at": at}});
        assert!(is_older(&object("99"), 100) && !is_older(&object("100"), 100));
        assert!(!is_older(&object("never"), 100) && !is_older(&json!({}), 100));
        assert_eq!(name(&object("1")), Some("a"));
        assert_ne!(name_of("i-1"), name_of("i-2"));
    }
}
