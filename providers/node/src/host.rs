//! The node that a session works on.

use std::sync::Arc;

use slipway_resource::ProviderError;

use crate::config::Config;
use crate::disk::Disk;
use crate::error::permanent;
use crate::ledger::Ledger;
use crate::root::Root;

/// A node: its files, its ledger, its services.
pub(crate) struct Host {
    pub(crate) config: Config,
    pub(crate) disk: Disk,
    pub(crate) ledger: Ledger,
}

impl Host {
    pub(crate) fn new(config: Config, checkpoint: Option<crate::Checkpoint>) -> Self {
        let disk = Disk::new(Root::new(&config.root), checkpoint);
        Self { ledger: Ledger::new(disk.clone()), disk, config }
    }

    /// Refuses a root that does not exist: the contents of a disk that is not mounted are unknown, not
    /// absent.
    pub(crate) fn reachable(&self) -> Result<(), ProviderError> {
        let path = self.disk.root().path();
        if path.is_dir() {
            return Ok(());
        }
        Err(permanent(format!("{} is not a folder: what is below it cannot be known", path.display())))
    }

    /// Does what blocks, away from the tasks that wait for the network.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Host) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let host = Arc::clone(self);
        match tokio::task::spawn_blocking(move || act(&host)).await {
            Ok(result) => result,
            Err(_) => Err(permanent("the provider failed inside an action")),
        }
    }
}
