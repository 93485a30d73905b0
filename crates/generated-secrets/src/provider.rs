//! The provider over a vault.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use slipway_resource::provider::{Capabilities, Info, RateClass, SessionRequest};
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::kind;
use crate::session::Secrets;
use crate::vault::Vault;

/// The provider's name in plans and in the state.
pub const NAME: &str = "secrets";

/// The pace class of every type.
pub(crate) const RATE_CLASS: &str = "secrets";

/// All types; sessions are configured by nothing.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let schema = || Arc::new(Schema { config: BTreeMap::new(), types: kind::types() });
    SCHEMA.get_or_init(schema).clone()
}

/// The provider of the secrets that clusters keep themselves.
#[derive(Clone, Debug)]
pub struct GeneratedSecrets {
    vault: Arc<Vault>,
}

impl GeneratedSecrets {
    /// The provider over the secrets of one cluster.
    #[must_use]
    pub fn new(vault: Arc<Vault>) -> Self {
        Self { vault }
    }
}

#[async_trait]
impl Provider for GeneratedSecrets {
    async fn info(&self) -> Result<Info, ProviderError> {
        let class = RateClass { concurrency: 16, per_second: None };
        Ok(Info {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: BTreeMap::from([(RATE_CLASS.to_owned(), class)]),
            batch: 1_000,
            capabilities: Capabilities::default(),
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(schema())
    }

    async fn validate_config(&self, _config: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(Vec::new())
    }

    async fn open_session(&self, _request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        Ok(Arc::new(Secrets::new(self.vault.clone())))
    }
}
