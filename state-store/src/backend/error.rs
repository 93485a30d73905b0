//! Errors of one object, in the classes that callers distinguish.

use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Why a call failed, as something that can be shared among those who waited for it.
pub type Source = Arc<dyn std::error::Error + Send + Sync>;

/// A result of a backend.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The code of an object in a format of a newer version.
pub(crate) const NEWER_FORMAT: &str = "STATE0015";

/// The code of a system that gives no random numbers.
pub(crate) const RANDOM: &str = "STATE0020";

/// An error of one object.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A create found the key taken.
    #[error("{key} already exists")]
    AlreadyExists {
        /// Which object.
        key: String,
    },
    /// An update found another version than the one it was to replace.
    #[error("{key} was changed by another process in the meantime")]
    Conflict {
        /// Which object.
        key: String,
    },
    /// An update found no object.
    #[error("{key} does not exist")]
    NotFound {
        /// Which object.
        key: String,
    },
    /// The call had no effect, and the same call may work later.
    #[error("{key} cannot be reached at the moment")]
    Transient {
        /// Which object.
        key: String,
        /// The error of the backend.
        #[source]
        source: Source,
    },
    /// A write was sent and its answer was not received: it may have happened, and may still happen.
    #[error("it is not known whether {key} was written")]
    OutcomeUnknown {
        /// Which object.
        key: String,
        /// The error that came instead of an answer.
        #[source]
        source: Source,
    },
    /// The place refuses this caller.
    #[error("access to {key} is denied")]
    Permission {
        /// Which object.
        key: String,
        /// The error of the backend.
        #[source]
        source: Source,
    },
    /// The stored bytes are not the written ones.
    #[error("{key} is damaged: {reason}")]
    Corrupt {
        /// Which object.
        key: String,
        /// Why it is damaged.
        reason: String,
    },
    /// Reading or writing failed permanently; a write had no effect.
    #[error("{key} cannot be read or written")]
    Io {
        /// Which object.
        key: String,
        /// The error of the system.
        #[source]
        source: Arc<io::Error>,
    },
    /// A key or a prefix that not every place can keep.
    #[error("`{key}` cannot be the key of an object: {reason}")]
    InvalidKey {
        /// The text.
        key: String,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// The address of a state store is not understood.
    #[error("`{url}` is not the address of a state store: {reason}")]
    InvalidUrl {
        /// The address as given.
        url: String,
        /// The problem, and the supported values.
        reason: String,
    },
    /// There is no such bucket or container.
    #[error("there is no bucket `{bucket}`, or this caller may not see it")]
    NoBucket {
        /// Its name.
        bucket: String,
        /// The error of the backend.
        #[source]
        source: Source,
    },
    /// The bucket is in another region than the one that was asked.
    #[error("the bucket `{bucket}` is in {}", region.as_deref().map_or_else(|| "another region".to_owned(), |region| format!("the region {region}")))]
    WrongRegion {
        /// Its name.
        bucket: String,
        /// Where it is, if the place says so.
        region: Option<String>,
        /// The error of the backend.
        #[source]
        source: Source,
    },
    /// There is no credential, or the place does not know it, or does not take it any more.
    #[error("no credential for the bucket `{bucket}` that it accepts")]
    Credentials {
        /// The bucket.
        bucket: String,
        /// The ways to give this kind of store a credential.
        ways: &'static str,
        /// The attempts, and their errors.
        #[source]
        source: Source,
    },
    /// The place does not do what a state store needs: conditional writes above all.
    #[error("this place cannot keep state: {rule}; {seen}")]
    Unfit {
        /// The rule of backends.
        rule: &'static str,
        /// The behaviour of this backend.
        seen: String,
    },
    /// A setting of the place that cannot be used.
    #[error("`{setting}` cannot be used: {reason}")]
    InvalidSetting {
        /// The setting: an option, a variable, an entry of a file.
        setting: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The store was made by a newer Slipway.
    #[error("{key} was written by a newer Slipway: its format is {found}, this one reads up to {supported}")]
    NewerFormat {
        /// Which object.
        key: String,
        /// Its format.
        found: u64,
        /// The newest format that is understood.
        supported: u32,
    },
    /// The object is encrypted, or is to be, and a layer above the place cannot do that.
    #[error("{source}")]
    Sealed {
        /// The layer's own code for it.
        code: &'static str,
        /// The way out, when there is one to name.
        hint: Option<String>,
        /// Whether the object is whole, and only the keys at hand do not open it.
        lacks_key: bool,
        /// The error of the layer.
        #[source]
        source: Source,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

impl Error {
    /// The stable code, which has a page in `docs/errors/`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } => "STATE0001",
            Self::Conflict { .. } => "STATE0002",
            Self::NotFound { .. } => "STATE0003",
            Self::Transient { .. } => "STATE0004",
            Self::OutcomeUnknown { .. } => "STATE0005",
            Self::Permission { .. } => "STATE0006",
            Self::Corrupt { .. } => "STATE0007",
            Self::Io { .. } => "STATE0008",
            Self::InvalidKey { .. } => "STATE0009",
            Self::InvalidUrl { .. } => "STATE0010",
            Self::NewerFormat { .. } => NEWER_FORMAT,
            Self::Random => RANDOM,
            Self::Sealed { code, .. } => code,
            Self::NoBucket { .. } => "STATE0021",
            Self::WrongRegion { .. } => "STATE0022",
            Self::Credentials { .. } => "STATE0023",
            Self::Unfit { .. } => "STATE0024",
            Self::InvalidSetting { .. } => "STATE0025",
        }
    }

    /// Whether the same call, sent again, may give an answer: nothing happened, or it is not known what did.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Transient { .. } | Self::OutcomeUnknown { .. })
    }

    /// Whether the object is whole, and no key at hand opens it.
    pub fn lacks_key(&self) -> bool {
        matches!(self, Self::Sealed { lacks_key: true, .. })
    }

    /// A way out, where there is one to name.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Sealed { hint, .. } => hint.clone(),
            Self::NoBucket { bucket, .. } => Some(format!(
                "make `{bucket}`, or correct the address; Slipway makes no buckets. A store that is not AWS is named by \
                 AWS_ENDPOINT_URL"
            )),
            Self::WrongRegion { region: Some(region), .. } => {
                Some(format!("set AWS_REGION={region}, or `region` under [state.s3] in the configuration file"))
            }
            Self::WrongRegion { region: None, .. } => {
                Some("set AWS_REGION, or `region` under [state.s3] in the configuration file".into())
            }
            Self::Credentials { ways, .. } => Some((*ways).to_owned()),
            Self::Permission { source, .. } if source.downcast_ref::<super::remote::Cause>().is_some() => Some(
                "planning lists and reads below the address of the state; applying writes and deletes there too. S3 \
                 denies the reading of what is absent to who may not list the bucket"
                    .into(),
            ),
            Self::Io { source, .. }
                if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
            {
                Some(
                    "make room where the state is stored, and run the command again: it continues from what is recorded"
                        .into(),
                )
            }
            Self::Unfit { .. } => {
                Some("use another store: on this one two operators would overwrite each other".into())
            }
            _ => None,
        }
    }

    /// When the place asks to come again, if it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { source, .. } | Self::OutcomeUnknown { source, .. } => {
                source.downcast_ref::<super::remote::Cause>()?.retry_after()
            }
            _ => None,
        }
    }

    /// Classes what the system said about a file.
    pub(crate) fn from_io(key: impl ToString, error: io::Error) -> Self {
        let key = key.to_string();
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission { key, source: Arc::new(error) }
            }
            io::ErrorKind::Interrupted | io::ErrorKind::TimedOut | io::ErrorKind::StaleNetworkFileHandle => {
                Self::Transient { key, source: Arc::new(error) }
            }
            _ => Self::Io { key, source: Arc::new(error) },
        }
    }

    /// The error for stored bytes under `key` that are not the written ones.
    pub(crate) fn corrupt(key: impl ToString, reason: impl ToString) -> Self {
        Self::Corrupt { key: key.to_string(), reason: reason.to_string() }
    }
}

/// An error and its causes, in one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let (mut texts, mut next) = (vec![error.to_string()], error.source());
    while let Some(cause) = next {
        let text = cause.to_string();
        // Many libraries repeat the cause in their own text.
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        next = cause.source();
    }
    texts.join(": ")
}
