//! Errors of secrets and their keys.

use std::sync::Arc;

use crate::key::KeyName;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The code of a secret without a key at hand that opens it.
pub const NO_KEY: &str = "SECRET0003";

/// The code of a secret that the key of its name does not open.
pub const WRONG_KEY: &str = "SECRET0004";

/// The code of a key service that does not answer.
pub const KEY_SERVICE: &str = "SECRET0010";

/// An error of a secret or its key. No message has any part of a secret. The error can be cloned: callers
/// that waited for the same key share its failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Bytes do not have the expected form.
    #[error("this is not {what}: {reason}")]
    Malformed {
        /// The expected form.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// An envelope was written by a newer Slipway.
    #[error("{path} was sealed by a newer Slipway: its format is {found}, this one reads up to {supported}")]
    NewerFormat {
        /// The object.
        path: String,
        /// Its format.
        found: u32,
        /// The newest supported format.
        supported: u32,
    },
    /// No key for an envelope is available.
    #[error("{path} cannot be opened: it is sealed for {}, and none of these keys is at hand", list(wanted))]
    NoKey {
        /// The object.
        path: String,
        /// The keys, each of which would open it.
        wanted: Vec<KeyName>,
    },
    /// A key of the right name does not open an envelope.
    #[error("{path} cannot be opened with {key}: it is another key of the same name")]
    WrongKey {
        /// The object.
        path: String,
        /// The key.
        key: KeyName,
    },
    /// An envelope is at another path than the one it was written for.
    #[error("{path} holds what was sealed for {found}: somebody has put it there")]
    Misplaced {
        /// Its path.
        path: String,
        /// The path that it was encrypted for.
        found: String,
    },
    /// An older version of an object is stored where the state names a newer one.
    #[error(
        "{path} is of generation {found}, and the state names {expected}: somebody has put an old one back"
    )]
    RolledBack {
        /// The object.
        path: String,
        /// The generation that was found.
        found: u64,
        /// The generation that the state names.
        expected: u64,
    },
    /// The key of an envelope is right, and its contents are damaged.
    #[error("{path} is damaged: its contents are not what was sealed")]
    Damaged {
        /// The object.
        path: String,
    },
    /// A text that cannot be a key.
    #[error("{what} cannot be used: {reason}")]
    InvalidKey {
        /// The text, or its description if it is secret.
        what: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A file with a key cannot be read or written.
    #[error("the key file {path} cannot be used")]
    KeyFile {
        /// The file.
        path: String,
        /// The error of the system.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The key service of a provider refused a request.
    #[error("the key service of {key} cannot {what} a key")]
    KeyService {
        /// The key.
        key: KeyName,
        /// `wrap` or `unwrap`.
        what: &'static str,
        /// The error of the provider.
        #[source]
        source: Arc<slipway_resource::ProviderError>,
    },
    /// A cryptographic primitive failed.
    #[error("{0}")]
    Crypto(&'static str),
    /// There is no recipient to encrypt for.
    #[error("there is no key to seal secrets with")]
    NoRecipients,
    /// The state names a secret that is not stored.
    #[error("the secret {path} is missing, and the state names it")]
    Missing {
        /// Its expected path.
        path: String,
    },
    /// An object is in plain text where the whole state should be encrypted.
    #[error("{path} is not encrypted, and the configuration says that the state is")]
    Clear {
        /// The object.
        path: String,
    },
    /// The state store fails.
    #[error(transparent)]
    Store(#[from] slipway_state_store::Error),
}

impl Error {
    /// The stable code, which has a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "SECRET0001",
            Self::NewerFormat { .. } => "SECRET0002",
            Self::NoKey { .. } => NO_KEY,
            Self::WrongKey { .. } => WRONG_KEY,
            Self::Misplaced { .. } => "SECRET0005",
            Self::RolledBack { .. } => "SECRET0006",
            Self::Damaged { .. } => "SECRET0007",
            Self::InvalidKey { .. } => "SECRET0008",
            Self::KeyFile { .. } => "SECRET0009",
            Self::KeyService { .. } => KEY_SERVICE,
            Self::Crypto(_) => "SECRET0011",
            Self::NoRecipients => "SECRET0012",
            Self::Missing { .. } => "SECRET0013",
            Self::Clear { .. } => "SECRET0014",
            Self::Store(error) => error.code(),
        }
    }

    /// Whether the object is whole, and no key at hand opens it. A key service that does not answer may open it later.
    #[must_use]
    pub fn lacks_key(&self) -> bool {
        matches!(self, Self::NoKey { .. } | Self::WrongKey { .. })
    }

    /// The hint, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoKey { wanted, .. } => {
                let ways: Vec<String> = wanted.iter().map(KeyName::how_to_give).collect();
                Some(ways.join("; or "))
            }
            Self::WrongKey { key, .. } => Some(key.how_to_give()),
            Self::NewerFormat { .. } => Some("use the Slipway that wrote it, or a newer one".to_owned()),
            Self::Clear { .. } => Some("`slipway state rekey CLUSTER` encrypts what is stored".to_owned()),
            Self::KeyService { source, .. } => source.hint.clone(),
            _ => None,
        }
    }
}

impl From<slipway_state_store::backend::Error> for Error {
    fn from(error: slipway_state_store::backend::Error) -> Self {
        Self::Store(error.into())
    }
}

fn list(names: &[KeyName]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}
