//! The nodes of the cluster, as the core opens their provider for `clusterApi`: its gates, each of them twice with one token.

use std::sync::Arc;

use slipway_provider_kubernetes::{Kubernetes, NODE, NotYet, TokenAccess};
use slipway_resource::provider::{
    Action, Applied, EventSink, Member, Node, NodeReference, Provider as _, SessionRequest, operation,
};
use slipway_resource::{Address, Identity, ProviderError, Session, Value};

use crate::cluster_api::ClusterApi;
use crate::support::Cloud;

/// The nodes behind the API of a cluster.
pub struct Nodes {
    session: Arc<dyn Session>,
}

impl Nodes {
    pub async fn of(api: &ClusterApi) -> Self {
        let access = TokenAccess {
            setting: "provider.config.clusterApi".to_owned(),
            endpoint: api.endpoint(),
            ca_file: None,
            token_file: None,
            networks: Some(Vec::new()),
        };
        let provider = Kubernetes::new(Arc::new(NotYet)).with_nodes_by(Arc::new(access));
        let request = SessionRequest { config: Value::Null, region: None, offline: false };
        Self { session: provider.open_session(request).await.unwrap() }
    }

    /// The node of a machine, as the planner joins it; `None` for one that has not joined the cluster.
    pub async fn of_member(&self, member: &Member) -> Option<Node> {
        let reference = member.node.as_ref().unwrap();
        let nodes = self.session.nodes().await.unwrap();
        nodes.into_iter().find(|node| reference.is(&node.name, node.provider_id.as_deref()))
    }

    /// Waits until the node of a new machine is ready, which the answer of `surge` names.
    pub async fn verify(
        &self,
        cloud: &Cloud,
        surge: &Applied,
        timeout_ms: i64,
    ) -> Result<Applied, ProviderError> {
        let node = surge.attributes.get(operation::NODE).unwrap();
        assert!(NodeReference::of_value(node).is_some(), "{node:?}");
        let arguments = [(operation::NODE, node.clone()), ("timeout_ms", timeout_ms.into())];
        self.gate(cloud, &Identity::new(""), operation::VERIFY, Value::map(arguments)).await
    }

    /// Cordons a node and drains it.
    pub async fn empty(&self, cloud: &Cloud, node: &Node, drain: Value) -> Result<(), ProviderError> {
        let none = Value::Map(slipway_resource::Entries::new());
        self.gate(cloud, &node.identity, operation::CORDON, none).await?;
        self.gate(cloud, &node.identity, operation::DRAIN, drain).await.map(drop)
    }

    async fn gate(
        &self,
        cloud: &Cloud,
        identity: &Identity,
        name: &str,
        arguments: Value,
    ) -> Result<Applied, ProviderError> {
        let action = Action::Operation { identity: identity.clone(), name: name.to_owned(), arguments };
        let request = cloud.request(&Address::new(NODE, "node"), action);
        self.session.apply(request.clone(), EventSink::discard()).await?;
        self.session.apply(request, EventSink::discard()).await
    }
}
