//! The program that calls the agent: it opens state stores with its settings, shows messages, and carries plans out.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::WaitHandler;
use slipway_secrets::{Keyring, Keys};
use slipway_state_store::{Backend, Settings};

use crate::error::Error;
use crate::work::{Task, Went};

/// What the agent leaves to the program that calls it.
#[async_trait(?Send)]
pub trait Caller {
    /// The state in a folder of this machine, which is not encrypted.
    fn folder(&self, path: &Path) -> Arc<dyn Backend>;

    /// Opens the state store at a URL with the keys of the user.
    fn backend_at(&self, url: &str) -> Result<Arc<dyn Backend>, slipway_state_store::Error>;

    /// Opens the state store at a URL with other keys.
    fn backend_with(
        &self,
        url: &str,
        keyring: Arc<Keyring>,
    ) -> Result<Arc<dyn Backend>, slipway_state_store::Error>;

    /// How stores in buckets are reached, and with which credentials.
    fn store_settings(&self) -> Settings;

    /// The keys of the user.
    fn keys(&self) -> Arc<dyn Keys>;

    /// Shows what a provider waits for.
    fn waits(&self) -> WaitHandler;

    /// Shows a message, unless the user wants none.
    fn message(&self, text: &str);

    /// Shows a message in any case.
    fn notice(&self, text: &str);

    /// Shows an error after which the agent tries again.
    fn report(&self, error: Error);

    /// Leaves the signals that come between two plans to the agent.
    fn leave_signals(&self);

    /// Makes a plan and carries it out without a question.
    async fn carry_out(&self, task: Task) -> Result<Went, Error>;
}
