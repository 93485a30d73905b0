//! Why a provider cannot be served.

use std::path::PathBuf;

use slipway_resource::ProviderError;

/// A provider that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A variable that the engine sets is missing: the executable was started by hand.
    #[error("{variable} is not set: this is a provider of Slipway, which starts it itself")]
    Environment {
        /// The variable.
        variable: &'static str,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {path}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The provider does not even know itself.
    #[error("the provider has no name or no schema")]
    Provider(#[source] ProviderError),
    /// The announcement cannot be written.
    #[error("cannot announce the provider")]
    Announce(#[source] std::io::Error),
    /// The server ended.
    #[error("the server failed")]
    Server(#[source] tonic::transport::Error),
}

impl ServeError {
    /// The stable code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Environment { .. } => "PROVIDER0101",
            Self::Listen { .. } => "PROVIDER0102",
            Self::Provider(_) => "PROVIDER0103",
            Self::Announce(_) => "PROVIDER0104",
            Self::Server(_) => "PROVIDER0105",
        }
    }
}
