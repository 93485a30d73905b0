//! What the cluster says of its nodes, for the plan: names for people, who is ready, and what would hold a drain up.

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_node_gates::{Client, Error, Node};
use slipway_resource::Value;

use crate::cloud::Cloud;

/// For how long a look waits for the cluster's API. A plan is made without it where it does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The nodes of a cluster, and what would hold their drains up.
pub(super) struct Nodes {
    nodes: Vec<Node>,
    blockers: BTreeMap<String, Vec<String>>,
}

impl Nodes {
    /// Asks the cluster's API; `None` where none is configured, and where it does not answer: a cluster that does not
    /// stand yet has none.
    pub async fn look(cloud: &Cloud) -> Option<Self> {
        let access = cloud.cluster_api()?;
        let asked = async {
            let client = Client::connect(access)?;
            let (nodes, blockers) = tokio::try_join!(client.nodes(), client.blockers())?;
            Ok::<_, Error>(Self { nodes, blockers })
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(nodes)) => Some(nodes),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the cluster's API says nothing of its nodes");
                None
            }
            Err(_) => {
                tracing::warn!(endpoint = access.endpoint, "the cluster's API does not answer");
                None
            }
        }
    }

    /// Writes what is known of an instance into it.
    pub fn describe(&self, instance: &mut Value) {
        let Value::Map(entries) = instance else { return };
        let Some(id) = entries.get("id").and_then(Value::as_str) else { return };
        let node = super::gates::of_instance(&self.nodes, id);
        entries.insert("ready".to_owned(), node.is_some_and(|node| node.ready).into());
        if let Some(node) = node {
            entries.insert("node".to_owned(), node.name.as_str().into());
            if let Some(blockers) = self.blockers.get(&node.name) {
                entries.insert("blockers".to_owned(), Value::list(blockers.iter().map(String::as_str)));
            }
        }
    }
}
