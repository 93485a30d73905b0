//! The provider: its name, its schema, its sessions.

use std::sync::Arc;

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::HttpClient;
use slipway_aws_model::offline::{self, Offline};
use slipway_resource::provider::{Capabilities, Info, SessionRequest, Terms};
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::config::Config;
use crate::error::invalid;
use crate::rate;
use crate::session::AwsSession;

/// How many objects one read or plan may name.
const BATCH: u32 = 1_000;

/// AWS as a provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aws;

impl Aws {
    /// A session whose calls an HTTP client answers, for tools and tests. Its credentials belong to nobody, and it does not ask
    /// which account they have. Call it inside a runtime.
    #[must_use]
    pub fn answered_by(http: impl HttpClient + 'static, region: &str) -> Arc<dyn Session> {
        AwsSession::answered_by(http, region)
    }
}

#[async_trait]
impl Provider for Aws {
    async fn info(&self) -> Result<Info, ProviderError> {
        Ok(Info {
            name: "aws".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: rate::rate_classes(),
            batch: BATCH,
            capabilities: Capabilities {
                price: true,
                node_identity: true,
                instances: true,
                load_balancers: true,
                routes: true,
                ..Capabilities::default()
            },
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(offline::schema())
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(Config::from_value(config).err().unwrap_or_default())
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let config = Config::from_value(&request.config).map_err(|problems| invalid(problems.join("; ")))?;
        if request.offline {
            return Ok(Arc::new(Offline::new(request.region).with_settings(&request.config)));
        }
        let prices = request.config.get("prices").cloned().unwrap_or_default();
        AwsSession::open(&config.on(&terms), request.region.as_deref(), prices).await
    }
}
