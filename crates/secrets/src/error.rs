//! What can go wrong with a secret or with its key.

use std::sync::Arc;

use crate::key::KeyName;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a secret or with its key. No message holds anything of a secret. It can be cloned: those who
/// waited for one key share its failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Bytes do not have the form that they should have.
    #[error("this is not {what}: {reason}")]
    Malformed {
        /// What they should be.
        what: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// An envelope was written by a newer Slipway.
    #[error("{path} was sealed by a newer Slipway: its format is {found}, this one reads up to {supported}")]
    NewerFormat {
        /// Which object.
        path: String,
        /// Its format.
        found: u32,
        /// The newest format that is understood.
        supported: u32,
    },
    /// No key for an envelope is at hand.
    #[error("{path} cannot be opened: it is sealed for {}, and none of these keys is at hand", list(wanted))]
    NoKey {
        /// Which object.
        path: String,
        /// The keys, each of which would do.
        wanted: Vec<KeyName>,
    },
    /// A key of the right name does not open an envelope.
    #[error("{path} cannot be opened with {key}: it is another key of the same name")]
    WrongKey {
        /// Which object.
        path: String,
        /// The key.
        key: KeyName,
    },
    /// An envelope lies where it was not written for.
    #[error("{path} holds what was sealed for {found}: somebody has put it there")]
    Misplaced {
        /// Where it lies.
        path: String,
        /// For which place it was sealed.
        found: String,
    },
    /// An older version of an object lies where the state knows of a newer one.
    #[error(
        "{path} is of generation {found}, and the state names {expected}: somebody has put an old one back"
    )]
    RolledBack {
        /// Which object.
        path: String,
        /// The generation that was found.
        found: u64,
        /// The generation that the state names.
        expected: u64,
    },
    /// An envelope's key fits, and its contents do not.
    #[error("{path} is damaged: its contents are not what was sealed")]
    Damaged {
        /// Which object.
        path: String,
    },
    /// A text that cannot be a key.
    #[error("{what} cannot be used: {reason}")]
    InvalidKey {
        /// Which text, without it where it is secret.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file with a key cannot be read or written.
    #[error("the key file {path} cannot be used")]
    KeyFile {
        /// Which one.
        path: String,
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A provider's key service does not do what it was asked.
    #[error("the key service of {key} cannot {what} a key")]
    KeyService {
        /// The key.
        key: KeyName,
        /// `wrap` or `unwrap`.
        what: &'static str,
        /// What it said.
        #[source]
        source: Arc<slipway_resource::ProviderError>,
    },
    /// A primitive refuses to work.
    #[error("{0}")]
    Crypto(&'static str),
    /// There is nobody to seal for.
    #[error("there is no key to seal secrets with")]
    NoRecipients,
    /// The state names a secret that is not stored.
    #[error("the secret {path} is missing, and the state names it")]
    Missing {
        /// Where it should be.
        path: String,
    },
    /// An object lies in clear where the whole state should be encrypted.
    #[error("{path} is not encrypted, and the configuration says that the state is")]
    Clear {
        /// Which object.
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
            Self::NoKey { .. } => "SECRET0003",
            Self::WrongKey { .. } => "SECRET0004",
            Self::Misplaced { .. } => "SECRET0005",
            Self::RolledBack { .. } => "SECRET0006",
            Self::Damaged { .. } => "SECRET0007",
            Self::InvalidKey { .. } => "SECRET0008",
            Self::KeyFile { .. } => "SECRET0009",
            Self::KeyService { .. } => "SECRET0010",
            Self::Crypto(_) => "SECRET0011",
            Self::NoRecipients => "SECRET0012",
            Self::Missing { .. } => "SECRET0013",
            Self::Clear { .. } => "SECRET0014",
            Self::Store(error) => error.code(),
        }
    }

    /// The way out, when there is one to name.
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
