//! The provider: its configuration and its sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_resource::provider::{Capabilities, Info, RateClass, Scope, SessionRequest};
use slipway_resource::validate::misfits;
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::Checkpoint;
use crate::config::Config;
use crate::disk;
use crate::error::invalid;
use crate::kind::{Kinds, RATE_CLASS};
use crate::root::Root;
use crate::session::NodeSession;

/// How many actions of one node run at once: more only wait for its disk.
const CONCURRENCY: u32 = 32;

/// The provider for the inside of nodes. A session works on one of them, below one root.
#[derive(Clone)]
pub struct Node {
    kinds: Arc<Kinds>,
    schema: Arc<Schema>,
    checkpoint: Option<Checkpoint>,
}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    /// The provider.
    #[must_use]
    pub fn new() -> Self {
        let kinds = Arc::new(Kinds::new());
        Self { schema: Arc::new(kinds.schema()), kinds, checkpoint: None }
    }

    /// The same, telling each step of each write right before it is done. For tests that end the process there.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// The types of a node, for those that plan for many nodes.
    #[must_use]
    pub fn types(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }
}

#[async_trait]
impl Provider for Node {
    async fn info(&self) -> Result<Info, ProviderError> {
        let class = RateClass { concurrency: CONCURRENCY, per_second: None };
        Ok(Info {
            name: "node".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: BTreeMap::from([(RATE_CLASS.to_owned(), class)]),
            batch: 1000,
            capabilities: Capabilities::default(),
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(Config::read(config).1)
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        let (config, mut problems) = Config::read(&request.config);
        problems.extend(misfits(&self.schema.config, &request.config).iter().map(ToString::to_string));
        if !problems.is_empty() {
            return Err(invalid(problems.join("; ")));
        }
        if !request.offline {
            disk::clear_temporaries(&Root::new(&config.root));
        }
        let account = if request.offline { String::new() } else { config.root.clone() };
        let scope = Scope { account, region: request.region };
        let kinds = Arc::clone(&self.kinds);
        let session =
            NodeSession::new(config, scope, kinds, Arc::clone(&self.schema), self.checkpoint.clone());
        Ok(Arc::new(session))
    }
}
