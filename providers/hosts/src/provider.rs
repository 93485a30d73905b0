//! The provider: its configuration and its sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_provider_node::Node;
use slipway_resource::provider::{Capabilities, Info, RateClass, SessionRequest, Terms};
use slipway_resource::validate::misfits;
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::config::Config;
use crate::error::invalid;
use crate::schema::{INVENTORY_CLASS, TRANSFER_CLASS, schema};
use crate::session::HostsSession;

/// How many hosts get their agent at once.
const TRANSFERS: u32 = 8;

/// The provider for machines that exist already.
#[derive(Clone)]
pub struct Hosts {
    node: Node,
    schema: Arc<Schema>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self::new()
    }
}

impl Hosts {
    /// The provider.
    #[must_use]
    pub fn new() -> Self {
        let node = Node::new();
        let schema = Arc::new(schema(&node.types()));
        Self { node, schema }
    }
}

#[async_trait]
impl Provider for Hosts {
    async fn info(&self) -> Result<Info, ProviderError> {
        let node = self.node.info().await?;
        // The concurrency limit is per host, and the engine counts per class.
        let mut rate_classes: BTreeMap<String, RateClass> = node.rate_classes;
        for class in rate_classes.values_mut() {
            class.concurrency = class.concurrency.saturating_mul(16);
        }
        let class = |concurrency| RateClass { concurrency, per_second: None };
        rate_classes.insert(INVENTORY_CLASS.to_owned(), class(64));
        rate_classes.insert(TRANSFER_CLASS.to_owned(), class(TRANSFERS));
        Ok(Info {
            name: "hosts".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes,
            batch: 10_000,
            capabilities: Capabilities { hosts: true, instances: true, ..Capabilities::default() },
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        let problems: Vec<String> =
            misfits(&self.schema.config, config).iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Ok(problems);
        }
        Ok(Config::read(config).err().into_iter().collect())
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let mut config = Config::read(&request.config).map_err(invalid)?;
        config.networks = terms.networks;
        // The plan of a change inside a node is the same for every node, and needs no connection.
        let planner = SessionRequest { config: Value::map::<&str, Value>([]), region: None, offline: true };
        let planner = self.node.open_session(planner).await?;
        let schema = Arc::clone(&self.schema);
        Ok(Arc::new(HostsSession::new(config, request.offline, planner, self.node.types(), schema)?))
    }
}
