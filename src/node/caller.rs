//! What the agent of a machine leaves to this program.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::WaitHandler;
use slipway_node_agent::work::{Task, Went};
use slipway_node_agent::{Caller, Error};
use slipway_secrets::{Keyring, Keys};
use slipway_state_store::{Backend, Settings};

use super::work;
use crate::cli::RunArguments;
use crate::error::CommandError;
use crate::program::Context;

#[async_trait(?Send)]
impl Caller for Context {
    fn folder(&self, path: &Path) -> Arc<dyn Backend> {
        Self::folder(self, path)
    }

    fn backend_at(&self, url: &str) -> Result<Arc<dyn Backend>, slipway_state_store::Error> {
        self.backend_with(url, self.keyring())
    }

    fn backend_with(
        &self,
        url: &str,
        keyring: Arc<Keyring>,
    ) -> Result<Arc<dyn Backend>, slipway_state_store::Error> {
        Self::backend_with(self, url, keyring)
    }

    fn store_settings(&self) -> Settings {
        Self::store_settings(self)
    }

    fn keys(&self) -> Arc<dyn Keys> {
        Self::keys(self)
    }

    fn waits(&self) -> WaitHandler {
        self.output.waits()
    }

    fn message(&self, text: &str) {
        self.output.message(text);
    }

    fn notice(&self, text: &str) {
        self.output.notice(text);
    }

    fn report(&self, error: Error) {
        CommandError::from(error).report(&self.output);
    }

    fn leave_signals(&self) {
        self.signals.leave_between_runs();
    }

    async fn carry_out(&self, task: Task) -> Result<Went, Error> {
        let run = RunArguments { yes: true, ..RunArguments::default() };
        work::carry_out(self, task, &run, false).await.map_err(|error| Error::Caller(error.into()))
    }
}
