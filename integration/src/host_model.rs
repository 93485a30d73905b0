//! Clusters on hosts without any host: the provider of hosts as it plans offline, with the core's part and the two providers
//! that are linked in, as one provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_bootstrap::from_cluster::{self, Placement};
use slipway_generated_secrets::{GeneratedSecrets, Vault};
use slipway_provider_hosts::Hosts;
use slipway_provider_kubernetes::Kubernetes;
use slipway_provider_sdk::cluster;
use slipway_resource::provider::{
    Applied, ApplyRequest, Capabilities, Catalog, CatalogRequest, DiscoverRequest, Discovery, EventSink,
    ExpandRequest, Expansion, Info, PlanItem, Planned, PreflightFinding, PreflightItem, ReadRequest,
    Resolution, ResumeRequest, Scope, SessionRequest,
};
use slipway_resource::{ErrorClass, Observed, Provider, ProviderError, Schema, Session, Token, Value};

/// Everything that a cluster on hosts consists of, as one provider that only plans.
pub struct HostModel {
    parts: Vec<Arc<dyn Provider>>,
}

impl Default for HostModel {
    fn default() -> Self {
        let vault = Arc::new(Vault::nowhere("model"));
        Self {
            parts: vec![
                Arc::new(Hosts::new()),
                Arc::new(GeneratedSecrets::new(vault)),
                Arc::new(Kubernetes::configured()),
            ],
        }
    }
}

#[async_trait]
impl Provider for HostModel {
    async fn info(&self) -> Result<Info, ProviderError> {
        let mut rate_classes = BTreeMap::new();
        for part in &self.parts {
            rate_classes.extend(part.info().await?.rate_classes);
        }
        Ok(Info {
            name: "host-model".to_owned(),
            version: "0".to_owned(),
            rate_classes,
            batch: 1_000,
            capabilities: Capabilities::default(),
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        let mut all = Schema::default();
        for part in &self.parts {
            let schema = part.schema().await?;
            all.types.extend(schema.types.iter().map(|(name, kind)| (name.clone(), kind.clone())));
        }
        Ok(Arc::new(all))
    }

    async fn validate_config(&self, _: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(Vec::new())
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        let mut parts = Vec::new();
        for part in &self.parts {
            let session = part.open_session(request.clone()).await?;
            parts.push((session, part.schema().await?));
        }
        Ok(Arc::new(ModelSession { parts, scope: Scope::default() }))
    }
}

struct ModelSession {
    /// The provider of hosts is the first.
    parts: Vec<(Arc<dyn Session>, Arc<Schema>)>,
    scope: Scope,
}

impl ModelSession {
    fn hosts(&self) -> Result<&dyn Session, ProviderError> {
        self.parts.first().map(|(session, _)| &**session).ok_or_else(only_plans)
    }
}

fn only_plans() -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, "a model only plans")
}

fn invalid(error: impl ToString) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, error.to_string())
}

#[async_trait]
impl Session for ModelSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        self.hosts()?.catalog().await
    }

    async fn catalog_for(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        self.hosts()?.catalog_for(request).await
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        let cluster = cluster::read(&request.cluster)?.cluster;
        let placement = Placement::of(&request.catalog.data).map_err(invalid)?.unwrap_or_default();
        let mut own = self.hosts()?.expand(request).await?;
        let inside = from_cluster::expand(&cluster, &placement, &[]).map_err(invalid)?;
        own.resources.extend(from_cluster::after_claims(inside.resources, &own.resources));
        own.notes.extend(inside.notes);
        Ok(own)
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let mut planned: Vec<Option<Planned>> = items.iter().map(|_| None).collect();
        for (session, schema) in &self.parts {
            let is_own = |item: &PlanItem| schema.types.contains_key(item.address.kind());
            let places: Vec<usize> =
                items.iter().enumerate().filter(|(_, item)| is_own(item)).map(|(place, _)| place).collect();
            let own = places.iter().filter_map(|place| items.get(*place).cloned()).collect();
            for (place, answer) in places.iter().zip(session.plan(own).await?) {
                if let Some(slot) = planned.get_mut(*place) {
                    *slot = Some(answer);
                }
            }
        }
        planned.into_iter().map(|planned| planned.ok_or_else(only_plans)).collect()
    }

    async fn discover(&self, _: DiscoverRequest) -> Result<Discovery, ProviderError> {
        Err(only_plans())
    }

    async fn read(&self, _: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        Err(only_plans())
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Ok(Vec::new())
    }

    async fn apply(&self, _: ApplyRequest, _: EventSink) -> Result<Applied, ProviderError> {
        Err(only_plans())
    }

    async fn resume(&self, _: ResumeRequest, _: EventSink) -> Result<Resolution, ProviderError> {
        Err(only_plans())
    }

    async fn cancel(&self, _: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(&self, _: &str, _: u32, attributes: Value) -> Result<Value, ProviderError> {
        Ok(attributes)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
