//! Sessions with the providers that have key services.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_operations::Processes;
use slipway_operations::providers::EMBEDDED;
use slipway_protocol::{LockFile, Running, SearchPath};
use slipway_provider_sim::Sim;
use slipway_resource::provider::SessionRequest;
use slipway_resource::{ErrorClass, Provider, ProviderError, Session, Value};
use slipway_secrets::service::OpenSession;

use super::KeyService;

/// One provider, started when its key is needed.
pub(super) struct Service {
    service: KeyService,
    search_path: SearchPath,
    lock_file: PathBuf,
    /// Every process ends with the command.
    processes: Processes,
}

impl Service {
    pub(super) fn new(
        service: KeyService,
        (search_path, lock_file): (SearchPath, PathBuf),
        processes: Processes,
    ) -> Self {
        Self { service, search_path, lock_file, processes }
    }

    /// The provider, checked against the lock file as any other: a spec never decides which executable runs.
    async fn find(&self) -> Result<Arc<dyn Provider>, slipway_protocol::Error> {
        let name = &self.service.provider;
        let lock = LockFile::read(&self.lock_file)?;
        if lock.get(name).is_none() && name == EMBEDDED {
            return Ok(Arc::new(Sim));
        }
        let running = Running::locked(name, &self.search_path, &lock).await?;
        let provider = running.provider();
        self.processes.keep(running);
        Ok(provider)
    }
}

#[async_trait]
impl OpenSession for Service {
    async fn open(&self) -> Result<Arc<dyn Session>, ProviderError> {
        let provider = self.find().await.map_err(|error| {
            let failed = ProviderError::new(ErrorClass::Permanent, error.to_string());
            match error.hint() {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        })?;
        let request = SessionRequest {
            config: Value::from_json(&self.service.config),
            region: self.service.region.clone(),
            offline: false,
        };
        provider.open_session(request).await
    }
}
