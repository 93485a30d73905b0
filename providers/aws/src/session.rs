//! A session with one account in one region.

mod act;
mod balancing;
mod find;
mod identity;
mod instances;
mod keys;
mod locate;
mod of_controllers;
mod resume;
mod routing;

pub(crate) use balancing::shut_out;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::HttpClient;
use slipway_aws_model::plan::boot;
use slipway_provider_sdk::Running;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, CatalogRequest, DiscoverRequest, Discovery, EventSink, ExpandRequest,
    Expansion, InstanceAnswer, InstancesRequest, LoadBalancers, LocateRequest, Located, NodeChallenge,
    PlanItem, Planned, PreflightFinding, PreflightItem, PriceReport, ReadRequest, Resolution, ResumeRequest,
    Routes, Scope, UnwrapKeyRequest, VerifiedNode, VerifyNodeRequest, WrapKeyRequest,
};
use slipway_resource::{ErrorClass, Observed, ProviderError, Session, Token, Value};

use zeroize::Zeroizing;

use crate::catalog::{self, Seen};
use crate::clients::Clients;
use crate::cloud::Cloud;
use crate::config::Config;
use crate::error::{error, incomplete, invalid};
use crate::preflight;
use crate::rate::Class;

/// A session with one account in one region.
pub(crate) struct AwsSession {
    cloud: Cloud,
    running: Running,
    /// The price list of the settings, in place of the built-in one.
    prices: Value,
}

impl AwsSession {
    /// Opens a session, and reads which account it has.
    ///
    /// # Errors
    /// `unauthenticated`, `permission`, or `invalid` when it is not the account of the configuration.
    pub async fn open(
        config: &Config,
        region: Option<&str>,
        prices: Value,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let clients = Clients::load(config, region).await;
        let region = clients.region().ok_or_else(|| {
            invalid("no region is named").with_hint("set `region` in the cluster's spec, or AWS_REGION")
        })?;
        let cloud = Cloud::new(clients, region, config.leaving);
        let request = cloud.sts().get_caller_identity();
        let caller = cloud.read(Class::Sts, "GetCallerIdentity", || request.clone().send()).await?;
        let account = caller.account().ok_or_else(|| incomplete("GetCallerIdentity", "account"))?;
        if let Some(wanted) = &config.account
            && wanted != account
        {
            let text = format!("the credentials are those of account {account}, the spec names {wanted}");
            return Err(error(ErrorClass::Permission { action: "sts:GetCallerIdentity".into() }, text)
                .with_hint("use other credentials, or another profile in the provider's configuration"));
        }
        let partition = caller.arn().and_then(|arn| arn.split(':').nth(1)).unwrap_or("aws");
        cloud.learn(account, partition, caller.arn());
        Ok(Arc::new(Self { cloud, running: Running::default(), prices }))
    }

    /// A session whose calls an HTTP client answers, in an account without a name.
    pub fn answered_by(http: impl HttpClient + 'static, region: &str) -> Arc<dyn Session> {
        let cloud = Cloud::new(Clients::answered_by(http, region), region.to_owned(), false);
        cloud.learn("000000000000", "aws", None);
        Arc::new(Self { cloud, running: Running::default(), prices: Value::Null })
    }
}

#[async_trait]
impl Session for AwsSession {
    fn scope(&self) -> &Scope {
        self.cloud.scope()
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        catalog::snapshot(&self.cloud).await
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        catalog::for_cluster(&self.cloud, request).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        slipway_aws_model::expand::expand(&request)
    }

    async fn discover(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        find::discover(&self.cloud, request).await
    }

    async fn read(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        Ok(find::read(&self.cloud, requests).await)
    }

    async fn locate(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        locate::locate(&self.cloud, &self.running, request).await
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        // Reading a template notes whose user data it has. Every template is read before this.
        if self.cloud.shared::<Seen>().other_user_data.load(Ordering::Relaxed) {
            boot::refuse_new_pools(&items)?;
        }
        items.iter().map(slipway_aws_model::plan::plan).collect()
    }

    async fn price(&self, items: Vec<PlanItem>) -> Result<PriceReport, ProviderError> {
        let region = self.cloud.scope().region.as_deref().unwrap_or_default();
        slipway_aws_model::price::price(region, &self.prices, &items)
    }

    async fn preflight(&self, items: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        preflight::check(&self.cloud, &items).await
    }

    async fn apply(&self, request: ApplyRequest, events: EventSink) -> Result<Applied, ProviderError> {
        let ticket = self.running.begin(&request.token);
        let applied = act::apply(&self.cloud, &request, &events, ticket).await;
        applied.map_err(|error| error.with_address(&request.ownership.address))
    }

    async fn resume(&self, request: ResumeRequest, events: EventSink) -> Result<Resolution, ProviderError> {
        let ticket = self.running.begin(&request.request.token);
        let resolution = resume::resume(&self.cloud, &request, &events, ticket).await;
        resolution.map_err(|error| error.with_address(&request.request.ownership.address))
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
        slipway_aws_model::offline::schema().of_version(kind, version, attributes)
    }

    async fn wrap_key(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        keys::wrap(&self.cloud, &request).await
    }

    async fn unwrap_key(&self, request: UnwrapKeyRequest) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        keys::unwrap(&self.cloud, &request).await
    }

    async fn bootstrap_credential(&self, challenge: NodeChallenge) -> Result<Vec<u8>, ProviderError> {
        identity::credential(&self.cloud, &challenge).await
    }

    async fn verify_node(&self, request: VerifyNodeRequest) -> Result<VerifiedNode, ProviderError> {
        identity::verify(&self.cloud, &request).await
    }

    async fn instances(&self, request: InstancesRequest) -> Result<Vec<InstanceAnswer>, ProviderError> {
        instances::find(&self.cloud, &request).await
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.running.stop(None);
        Ok(())
    }
}
