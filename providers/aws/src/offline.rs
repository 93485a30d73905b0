//! A session without the cloud: it knows a region, expands and plans, and nothing else.

use async_trait::async_trait;
use slipway_aws_model::catalog::Catalog as Data;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest, Expansion,
    PlanItem, Planned, PreflightFinding, PreflightItem, ReadRequest, Resolution, ResumeRequest, Scope,
};
use slipway_resource::{Address, ErrorClass, Identity, Observed, ProviderError, Session, Token, Value};

use crate::catalog::pinned;
use crate::error::error;

/// A session without the cloud.
pub(crate) struct Offline {
    scope: Scope,
}

impl Offline {
    /// A session for a region; none is needed to plan.
    pub fn new(region: Option<String>) -> Self {
        Self { scope: Scope { account: String::new(), region } }
    }
}

fn not_here<T>() -> Result<T, ProviderError> {
    Err(error(ErrorClass::Unauthenticated, "an offline session has no account to ask"))
}

#[async_trait]
impl Session for Offline {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        pinned(&Data::offline(self.scope.region.as_deref().unwrap_or_default()))
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        slipway_aws_model::expand::expand(&request)
    }

    async fn discover(&self, _request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        not_here()
    }

    async fn read(&self, _requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        not_here()
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.iter().map(slipway_aws_model::plan::plan).collect()
    }

    async fn preflight(&self, _items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        not_here()
    }

    async fn apply(&self, _request: ApplyRequest, _events: EventSink) -> Result<Applied, ProviderError> {
        not_here()
    }

    async fn resume(&self, _request: ResumeRequest, _events: EventSink) -> Result<Resolution, ProviderError> {
        not_here()
    }

    async fn cancel(&self, _token: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(
        &self,
        _kind: &str,
        _version: u32,
        _attributes: Value,
    ) -> Result<Value, ProviderError> {
        not_here()
    }

    async fn import(&self, _address: &Address, _identity: &Identity) -> Result<Observed, ProviderError> {
        not_here()
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
