//! A session: the work on one node.

mod act;
mod actual;
mod resume;
mod turns;

use std::sync::Arc;

use async_trait::async_trait;
use slipway_provider_sdk::Running;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest, Expansion,
    LocateRequest, Located, PlanItem, Planned, PreflightFinding, PreflightItem, ReadRequest, Resolution,
    ResumeRequest, Scope,
};
use slipway_resource::{Address, Identity, Observed, ProviderError, Schema, Session, Token, Value};

use crate::Checkpoint;
use crate::config::Config;
use crate::host::Host;
use crate::kind::Kinds;
use crate::machine_facts;
use crate::planning;
use turns::Turns;

/// The work on one node.
pub(crate) struct NodeSession {
    host: Arc<Host>,
    scope: Scope,
    kinds: Arc<Kinds>,
    schema: Arc<Schema>,
    running: Running,
    turns: Turns,
}

impl NodeSession {
    pub(crate) fn new(
        config: Config,
        scope: Scope,
        kinds: Arc<Kinds>,
        schema: Arc<Schema>,
        checkpoint: Option<Checkpoint>,
    ) -> Self {
        let host = Arc::new(Host::new(config, checkpoint));
        Self { host, scope, kinds, schema, running: Running::default(), turns: Turns::default() }
    }
}

#[async_trait]
impl Session for NodeSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        machine_facts::catalog(&self.host).await
    }

    async fn expand(&self, _: ExpandRequest) -> Result<Expansion, ProviderError> {
        // The core expands a node, in the same way for every provider of machines.
        Ok(Expansion::default())
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        self.list(request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        Ok(self.read_all(requests).await)
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        self.look_for(request).await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.iter().map(|item| planning::plan(&self.kinds, &self.schema, item)).collect()
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        self.check(items).await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        self.act(request, events).await
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        self.find_again(request, events).await
    }

    async fn cancel(&self, token: Option<Token>) -> Result<(), ProviderError> {
        self.running.stop(token.as_ref());
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        self.schema.of_version(kind, version, attributes)
    }

    async fn import(&self, address: &Address, identity: &Identity) -> Result<Observed, ProviderError> {
        self.find(address, identity).await
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
