//! Why the controller does not start or ends.

use std::io;
use std::net::SocketAddr;

use slipway_controller::{ConnectError, ElectionError, TermsError};

use crate::proxy;

/// Why the controller does not start or ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A URL of the core cannot be used.
    #[error(transparent)]
    CoreUrl(#[from] proxy::Error),
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
    /// Signals cannot be caught, or there is no randomness.
    #[error("the system refuses what the controller needs")]
    System(#[source] io::Error),
}

impl Error {
    /// The code of its page in `docs/errors`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CoreUrl(error) => error.code(),
            Self::System(_) => proxy::SYSTEM,
            Self::Connect(_) => "STORAGE0009",
            Self::Serve { .. } => "STORAGE0010",
            Self::Election(_) => "STORAGE0011",
            Self::Terms(_) => "STORAGE0012",
        }
    }

    /// How to get out, where that is not in the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Connect(_) => Some("outside of a cluster, give `--kubeconfig FILE`".to_owned()),
            Self::Serve { .. } => {
                Some("choose another `--bind-address` or `--port`; port 0 takes a free one".to_owned())
            }
            Self::Election(_) => Some("start the controller again: another replica leads now".to_owned()),
            _ => None,
        }
    }
}
