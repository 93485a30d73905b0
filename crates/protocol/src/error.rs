//! Errors before the first call to a provider.

use std::path::PathBuf;

use slipway_limits::Exceeded;
use slipway_resource::Digest;

/// A provider that cannot be found, trusted or started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No directory of the search path has the provider.
    #[error("provider {name} is not installed (searched {searched})")]
    NotFound {
        /// The provider.
        name: String,
        /// The directories, for people.
        searched: String,
        /// An executable of its name in one of them, which no file describes.
        undescribed: Option<PathBuf>,
    },
    /// A provider that is described and whose executable is not there.
    #[error("provider {name} is described in {file}, but {executable} is not there")]
    NotBuilt {
        /// The provider.
        name: String,
        /// Its `provider.toml`.
        file: PathBuf,
        /// The executable.
        executable: PathBuf,
    },
    /// A name that no provider can have.
    #[error("`{name}` is not a provider's name: lower-case letters, digits and `-` only")]
    Name {
        /// The text.
        name: String,
    },
    /// A `provider.toml` that cannot be used.
    #[error("{path}: {reason}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A lock file that cannot be used.
    #[error("{path}: {reason}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A provider that the lock file does not have.
    #[error("provider {name} is not in {lock}")]
    Unlocked {
        /// The provider.
        name: String,
        /// The lock file.
        lock: PathBuf,
    },
    /// An executable other than the one that was locked.
    #[error("provider {name}: {executable} has digest {found}, the lock file says {locked}")]
    Changed {
        /// The provider.
        name: String,
        /// The executable.
        executable: PathBuf,
        /// Its digest.
        found: Digest,
        /// The digest in the lock file.
        locked: Digest,
    },
    /// A provider whose schema is not the one that was locked.
    #[error("provider {name} announces schema {found}, the lock file says {locked}")]
    SchemaChanged {
        /// The provider.
        name: String,
        /// The digest that it announces.
        found: Digest,
        /// The digest in the lock file.
        locked: Digest,
    },
    /// An executable that cannot be started.
    #[error("provider {provider}: cannot start {executable}")]
    Start {
        /// The provider.
        provider: String,
        /// The executable.
        executable: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A process that did not announce itself as it has to.
    #[error("provider {provider} did not start as a provider: {reason}")]
    Handshake {
        /// The provider.
        provider: String,
        /// The problem.
        reason: String,
    },
    /// A provider that speaks other versions of the contract only.
    #[error("provider {provider} speaks {spoken}; this Slipway speaks v1alpha1")]
    Protocol {
        /// The provider.
        provider: String,
        /// The versions that it speaks.
        spoken: String,
    },
    /// A provider that started and then could not be asked.
    #[error("provider {provider} started, but cannot be asked")]
    Ask {
        /// The provider.
        provider: String,
        /// Why.
        #[source]
        source: Box<slipway_resource::ProviderError>,
    },
    /// A file that cannot be read or written.
    #[error("{path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// The stable code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "PROVIDER0001",
            Self::Name { .. } => "PROVIDER0002",
            Self::Manifest { .. } => "PROVIDER0003",
            Self::Lock { .. } => "PROVIDER0004",
            Self::Unlocked { .. } => "PROVIDER0005",
            Self::Changed { .. } => "PROVIDER0006",
            Self::SchemaChanged { .. } => "PROVIDER0007",
            Self::Start { .. } => "PROVIDER0008",
            Self::Handshake { .. } => "PROVIDER0009",
            Self::Protocol { .. } => "PROVIDER0010",
            Self::Ask { .. } => "PROVIDER0011",
            Self::File { .. } => "PROVIDER0012",
            Self::NotBuilt { .. } => "PROVIDER0013",
        }
    }

    /// A way out, when there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { name, undescribed: Some(executable), .. } => Some(format!(
                "{} is there, and no file describes it: write slipway-provider-{name}.toml beside it, with name, version, protocol \
                 and description",
                executable.display()
            )),
            Self::NotFound { name, undescribed: None, .. } => Some(format!(
                "install slipway-provider-{name} with its provider.toml, or name its directory in SLIPWAY_PROVIDER_PATH; \
                 for `plan --offline`, slipway-provider-{name}.toml and its offline executable must be beside `slipway`"
            )),
            Self::NotBuilt { name, .. } => Some(format!(
                "build it with `cargo build --release -p slipway-provider-{name}`, then trust it with `slipway provider lock {name}`"
            )),
            Self::Unlocked { name, .. } => Some(format!(
                "if you trust what is installed, run `slipway provider lock {name}` and commit the lock file"
            )),
            Self::Changed { name, .. } | Self::SchemaChanged { name, .. } => Some(format!(
                "install the version in the lock file, or review the new one and run `slipway provider lock {name}`"
            )),
            Self::Protocol { .. } => Some("install a version of the provider for this Slipway".to_owned()),
            Self::File { source, .. } => Exceeded::of(source).map(|exceeded| exceeded.hint().to_owned()),
            _ => None,
        }
    }
}
