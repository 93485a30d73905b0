//! Errors that end the controller.

use std::io;
use std::net::SocketAddr;

use slipway_controller::{ConnectError, ElectionError, TermsError};

/// Errors that end the controller.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API of the cluster cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The endpoints cannot be served.
    #[error("the controller cannot listen at {address}")]
    Serve {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The lease was lost.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The times of the election do not fit to each other.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Signals cannot be caught, there is no randomness, or the output cannot be written.
    #[error("the system refuses what the controller needs")]
    System(#[from] io::Error),
}

impl Error {
    /// The code of its page in `docs/errors`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Connect(_) => "TOKEN0003",
            Self::Serve { .. } => "TOKEN0004",
            Self::Election(_) => "TOKEN0005",
            Self::Terms(_) => "TOKEN0006",
            Self::System(_) => "TOKEN0007",
        }
    }

    /// How to get out, where that is not in the message.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connect(_) => Some("outside of a cluster, give `--kubeconfig FILE`"),
            Self::Serve { .. } => {
                Some("choose another `--bind-address` or `--port`; port 0 takes a free one")
            }
            Self::Election(_) => Some("start the controller again: another replica leads now"),
            Self::Terms(_) | Self::System(_) => None,
        }
    }
}
