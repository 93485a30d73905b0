//! How to serve.

use std::path::PathBuf;
use std::time::Duration;

use slipway_protocol::handshake;

use crate::ServeError;

/// How to serve a provider.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The private directory for the socket.
    pub directory: PathBuf,
    /// The text that the announcement repeats.
    pub nonce: String,
    /// How many actions of one session are under way at once; more wait on the wire.
    pub actions: usize,
    /// How long running actions have to stop when the engine is gone.
    pub grace: Duration,
}

impl ServeOptions {
    /// Options as the engine gives them by the environment.
    ///
    /// # Errors
    /// When the engine has not started this process.
    pub fn from_environment() -> Result<Self, ServeError> {
        let variable =
            |variable: &'static str| std::env::var_os(variable).ok_or(ServeError::Environment { variable });
        Ok(Self::new(
            PathBuf::from(variable(handshake::DIRECTORY)?),
            variable(handshake::NONCE)?.to_string_lossy().into_owned(),
        ))
    }

    /// Options with defaults: 1,024 actions, ten seconds of grace.
    #[must_use]
    pub fn new(directory: PathBuf, nonce: String) -> Self {
        Self { directory, nonce, actions: 1024, grace: Duration::from_secs(10) }
    }
}
