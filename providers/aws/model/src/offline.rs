//! Planning without AWS: a session that knows nothing of the account, and a provider that has no other sessions.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use slipway_resource::provider::{
    Applied, ApplyRequest, Capabilities, Catalog, DiscoverRequest, Discovery, EventSink, ExpandRequest,
    Expansion, Info, PlanItem, Planned, PreflightFinding, PreflightItem, PriceReport, ReadRequest,
    Resolution, ResumeRequest, Scope, SessionRequest,
};
use slipway_resource::validate::misfits;
use slipway_resource::{
    Address, ErrorClass, Identity, Observed, Provider, ProviderError, Schema, Session, Token, Value,
};

use crate::{catalog, expand, plan, price, settings, types};

/// How many objects one plan may name.
const BATCH: u32 = 1_000;

/// The provider's schema: its settings and its resource types.
#[must_use]
pub fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA
        .get_or_init(|| Arc::new(Schema { config: settings::cluster_schema(), types: types::all().clone() }))
        .clone()
}

/// A session that plans without the account: facts that only the account knows stay unknown until apply.
#[derive(Debug, Clone)]
pub struct Offline {
    scope: Scope,
    prices: Value,
}

impl Offline {
    /// A session for a region; without one the zones of the cluster say which it is.
    #[must_use]
    pub fn new(region: Option<String>) -> Self {
        let scope = Scope { account: String::new(), region };
        Self { scope, prices: Value::Null }
    }

    /// The same with the provider's settings, of which it reads the list of prices.
    #[must_use]
    pub fn with_settings(mut self, settings: &Value) -> Self {
        self.prices = settings.get("prices").cloned().unwrap_or_default();
        self
    }

    fn refuse<T>(what: &str) -> Result<T, ProviderError> {
        Err(ProviderError::new(ErrorClass::Invalid, format!("a session without AWS cannot {what}")))
    }
}

#[async_trait]
impl Session for Offline {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        let known = catalog::Catalog::offline(self.scope.region.as_deref().unwrap_or_default());
        Catalog::new(&known)
    }

    async fn expand(&self, request: ExpandRequest) -> Result<Expansion, ProviderError> {
        expand::expand(&request)
    }

    async fn discover(&self, _: DiscoverRequest) -> Result<Discovery, ProviderError> {
        Self::refuse("look for what exists")
    }

    async fn read(&self, _: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        Self::refuse("read what exists")
    }

    async fn plan(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        items.iter().map(plan::plan).collect()
    }

    async fn price(&self, items: Vec<PlanItem>) -> Result<PriceReport, ProviderError> {
        price::price(self.scope.region.as_deref().unwrap_or_default(), &self.prices, &items)
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Self::refuse("check permissions and quotas")
    }

    async fn apply(&self, _: ApplyRequest, _: EventSink) -> Result<Applied, ProviderError> {
        Self::refuse("change anything")
    }

    async fn resume(&self, _: ResumeRequest, _: EventSink) -> Result<Resolution, ProviderError> {
        Self::refuse("find out what became of a change")
    }

    async fn cancel(&self, _: Option<Token>) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn upgrade_state(
        &self,
        kind: &str,
        version: u32,
        attributes: Value,
    ) -> Result<Value, ProviderError> {
        match types::get(kind) {
            Some(known) if known.version == version => Ok(attributes),
            _ => Self::refuse(&format!("read version {version} of {kind}")),
        }
    }

    async fn import(&self, _: &Address, _: &Identity) -> Result<Observed, ProviderError> {
        Self::refuse("take anything over")
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// A provider that plans AWS and does not reach it: small, and part of every build of the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineProvider;

#[async_trait]
impl Provider for OfflineProvider {
    async fn info(&self) -> Result<Info, ProviderError> {
        Ok(Info {
            name: "aws".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: types::rate::classes(),
            batch: BATCH,
            capabilities: Capabilities { price: true, ..Capabilities::default() },
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(schema())
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        if config.is_null() {
            return Ok(Vec::new());
        }
        let found = misfits(&settings::cluster_schema(), config);
        Ok(found.iter().map(ToString::to_string).collect())
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        if request.offline {
            return Ok(Arc::new(Offline::new(request.region).with_settings(&request.config)));
        }
        let message = "this executable of provider aws plans without AWS and does not reach it";
        Err(ProviderError::new(ErrorClass::Invalid, message).with_hint(
            "build the whole provider with `cargo build --release -p slipway-provider-aws`, then trust it with \
             `slipway provider lock aws`; `slipway plan --offline` needs neither",
        ))
    }
}
