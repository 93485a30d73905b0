//! Why a proxy does not start or ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::tenant::Tenant;

/// The code of a failure of the system below the process.
pub(crate) const SYSTEM: &str = "STORAGE0008";

/// Why a proxy does not start or ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A certificate or a key cannot be used.
    #[error("{} cannot be used for TLS: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A URL of the core cannot be used.
    #[error("{0:?} is not the URL of an etcd endpoint: it has the form https://<host>:<port>")]
    Endpoint(String),
    /// The core does not answer.
    #[error("the core etcd does not answer: {0}")]
    Core(Box<tonic::Status>),
    /// Keys of another program have the tenant's prefix.
    #[error("the core etcd has keys below {} that no proxy of the tenant {tenant} has written", tenant.prefix())]
    Occupied {
        /// The tenant.
        tenant: Tenant,
    },
    /// A record of the proxy in the core is damaged.
    #[error("the record {0} in the core etcd is damaged")]
    Record(String),
    /// The address is not available.
    #[error("the proxy cannot listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The server failed.
    #[error("the server failed")]
    Serve(#[source] tonic::transport::Error),
    /// Signals cannot be caught.
    #[error("signals cannot be caught")]
    Signals(#[source] io::Error),
    /// There is no randomness.
    #[error("the system has no random numbers")]
    Random,
}

impl Error {
    /// The code of its page in `docs/errors`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "STORAGE0001",
            Self::Tls { .. } => "STORAGE0002",
            Self::Endpoint(_) => "STORAGE0003",
            Self::Core(_) => "STORAGE0004",
            Self::Occupied { .. } => "STORAGE0005",
            Self::Record(_) => "STORAGE0006",
            Self::Listen { .. } => "STORAGE0007",
            Self::Serve(_) | Self::Signals(_) | Self::Random => SYSTEM,
        }
    }

    /// How to get out, where that is not in the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Occupied { tenant } => Some(format!(
                "use another name, or `--adopt` if the keys below {} are meant for this tenant",
                tenant.prefix()
            )),
            Self::Core(_) => Some("check `--endpoints`, `--cacert`, `--cert` and `--key`".to_owned()),
            _ => None,
        }
    }
}

impl From<tonic::Status> for Error {
    fn from(status: tonic::Status) -> Self {
        Self::Core(Box::new(status))
    }
}
