//! Why a controller cannot start, or cannot read a source.

use std::path::PathBuf;
use std::time::Duration;

use slipway_limits::Size;

/// Why a controller cannot start, or cannot read a source.
///
/// [`Error::code`] is the stable code with a page in `docs/errors/`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration file cannot be understood.
    #[error("{} cannot be understood", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Why, with line and column.
        #[source]
        source: toml::de::Error,
    },
    /// The configuration has a value that cannot be used, or two that contradict each other.
    #[error("{place}: {reason}")]
    Configuration {
        /// The setting, as `source platform: cluster prod-*`.
        place: String,
        /// What is wrong with it.
        reason: String,
        /// The way out, where the reason does not say it.
        hint: Option<&'static str>,
    },
    /// The secret of the webhooks of a source cannot be used.
    #[error("source {name}: the secret in {} cannot be used", path.display())]
    Secret {
        /// The source.
        name: String,
        /// The file with the secret.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<slipway_forges::Error>,
    },
    /// A file of the configuration cannot be read.
    #[error("{what} {} cannot be used", path.display())]
    File {
        /// The description of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no `git`.
    #[error("`git` cannot be started")]
    NoGit {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A repository cannot be read at the moment.
    #[error("the repository {url} cannot be read: {reason}")]
    Unavailable {
        /// The repository.
        url: String,
        /// What git says.
        reason: String,
    },
    /// A source takes too long to be read.
    #[error("the source {place} was not read within {limit:?}")]
    TooSlow {
        /// Its folder or URL.
        place: String,
        /// How long it may take.
        limit: Duration,
    },
    /// A bucket cannot be read at the moment.
    #[error("the bucket {url} cannot be read")]
    Bucket {
        /// The bucket.
        url: String,
        /// Why.
        #[source]
        source: slipway_state_store::backend::Error,
    },
    /// An OCI artifact cannot be read at the moment.
    #[error("the artifact {url} cannot be read: {reason}")]
    Oci {
        /// The artifact.
        url: String,
        /// Why.
        reason: String,
    },
    /// An object of Flux, or its artifact, cannot be read at the moment.
    #[error("the {object} of Flux cannot be read: {reason}")]
    Flux {
        /// Its kind, namespace and name.
        object: String,
        /// Why.
        reason: String,
    },
    /// An object of Flux has no artifact at the moment that is the one of its spec.
    #[error("the {object} of Flux has no artifact to use: {reason}")]
    FluxNotReady {
        /// Its kind, namespace and name.
        object: String,
        /// Why, as its conditions say.
        reason: String,
    },
    /// A person has suspended an object of Flux.
    #[error("the {object} of Flux is suspended")]
    FluxSuspended {
        /// Its kind, namespace and name.
        object: String,
    },
    /// A `Source` object cannot be read at the moment.
    #[error("the {object} cannot be read: {reason}")]
    Object {
        /// Its kind, namespace and name.
        object: String,
        /// Why.
        reason: String,
    },
    /// A `Source` object is suspended, or names what it may not.
    #[error("the {object} is not used: {reason}")]
    ObjectRefused {
        /// Its kind, namespace and name.
        object: String,
        /// Why.
        reason: String,
    },
    /// A bucket was changed while it was read.
    #[error("the bucket {url} was changed while it was read")]
    Moved {
        /// The bucket.
        url: String,
    },
    /// The branch, tag, commit or object does not exist, or not any more.
    #[error("{what} does not exist in {url}")]
    NoReference {
        /// The branch, tag, commit or object.
        what: String,
        /// The repository, or the API server.
        url: String,
    },
    /// A commit or a tag has no signature that is accepted.
    #[error("{what} has no accepted signature: {reason}")]
    Signature {
        /// The commit or the tag, for people.
        what: String,
        /// What git says.
        reason: String,
    },
    /// The content of a source is refused.
    #[error("{path} in the source {reason}")]
    Content {
        /// The path in the source.
        path: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// A source has more than allowed.
    #[error("the source has more than {limit}, the most that {} may have", limit.what)]
    TooLarge {
        /// The limit.
        limit: Size,
    },
    /// A source has more files than allowed.
    #[error("the source has more than {limit} files in the paths that are read")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// No plan was made in time.
    #[error("planning took longer than {limit:?}, the limit of the source")]
    PlanTimeout {
        /// The limit.
        limit: Duration,
    },
    /// Planning did not begin in time.
    #[error(
        "planning did not begin within {limit:?}: planning of others that was given up keeps all threads of the source busy"
    )]
    NoThread {
        /// How long planning may wait for its beginning.
        limit: Duration,
    },
    /// Another process uses the data folder.
    #[error("another controller uses the folder {}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The address for metrics and health, or that for webhooks, cannot be used.
    #[error("the address {address} cannot be listened on")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Neither a controller nor the state store knows a cluster.
    #[error("no controller knows the cluster {cluster}, and the state store has no such cluster")]
    UnknownCluster {
        /// The cluster.
        cluster: String,
    },
    /// No controller has reported a source.
    #[error("no controller has reported the source {name}")]
    UnknownSource {
        /// The name of the source.
        name: String,
    },
    /// The state store refused.
    #[error(transparent)]
    Store(#[from] slipway_state_store::Error),
    /// The name of the controller cannot be that of an actor.
    #[error(transparent)]
    Actor(Box<slipway_operations::Error>),
    /// The environment has no state store.
    #[error("a controller needs a state store")]
    NoStore,
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "RECON0001",
            Self::Configuration { .. } | Self::NoStore => "RECON0002",
            Self::Secret { source, .. } => source.code(),
            Self::NoGit { .. } => "RECON0003",
            Self::Unavailable { .. } | Self::TooSlow { .. } => "RECON0004",
            Self::NoReference { .. } => "RECON0005",
            Self::Signature { .. } => "RECON0006",
            Self::Content { .. } | Self::TooLarge { .. } | Self::TooMany { .. } => "RECON0007",
            Self::Locked { .. } => "RECON0008",
            Self::File { .. } => "RECON0009",
            Self::Listen { .. } => "RECON0010",
            Self::UnknownCluster { .. } => "RECON0011",
            Self::Bucket { .. } | Self::Moved { .. } => "RECON0012",
            Self::Oci { .. } => "RECON0013",
            Self::PlanTimeout { .. } | Self::NoThread { .. } => "RECON0014",
            Self::Flux { .. } => "RECON0015",
            Self::FluxNotReady { .. } | Self::FluxSuspended { .. } => "RECON0016",
            Self::Object { .. } => "RECON0018",
            Self::ObjectRefused { .. } => "RECON0019",
            Self::UnknownSource { .. } => "RECON0030",
            Self::Store(error) => error.code(),
            // The code of names of actors, which is the only reason to refuse one.
            Self::Actor(error) => error.code().unwrap_or(slipway_operations::code::ACTOR),
        }
    }

    /// The way out, where there is one in a sentence.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Syntax { .. } => "`slipway explain RECON0001` shows a complete configuration".to_owned(),
            Self::NoGit { .. } => "install git 2.36 or newer, on the PATH of the controller".to_owned(),
            Self::Unavailable { .. } | Self::TooSlow { .. } => {
                "check URL, network and credentials; the controller tries again by itself".to_owned()
            }
            Self::Bucket { .. } | Self::Oci { .. } => {
                "check URL, network and credentials; the controller tries again by itself".to_owned()
            }
            Self::Flux { .. } => {
                "check the kubeconfig, the rights in the cluster and `artifact-hosts`; the controller tries again by itself"
                    .to_owned()
            }
            Self::FluxNotReady { .. } => {
                "`flux get sources all --all-namespaces` shows what Flux waits for; the controller reads it again by itself"
                    .to_owned()
            }
            Self::FluxSuspended { .. } => {
                "set `spec.suspend` to false, as `flux resume source` does; until then nothing of it is applied".to_owned()
            }
            Self::Object { .. } => {
                "check the table `[kubernetes]` and the rights in the cluster; the controller tries again by itself".to_owned()
            }
            Self::ObjectRefused { .. } => {
                "change the object, or `urls` of the source in the configuration; until then nothing of it is applied".to_owned()
            }
            Self::Moved { .. } => "the controller reads it again by itself".to_owned(),
            Self::NoReference { .. } => {
                "create it again, or change the source in the configuration; until then nothing is applied or deleted"
                    .to_owned()
            }
            Self::Signature { .. } => {
                "sign it with a key that the source accepts, or add the key to the accepted ones".to_owned()
            }
            Self::Content { .. } => "remove it from the folders that `paths` names".to_owned(),
            Self::TooLarge { .. } | Self::TooMany { .. } => {
                "name only the folders with specs in `paths`".to_owned()
            }
            Self::PlanTimeout { .. } => {
                "check that the provider and the cluster answer; `plan-timeout` of the source sets the limit".to_owned()
            }
            Self::NoThread { .. } => {
                "correct the specs of the source that fail with RECON0014, and restart the controller".to_owned()
            }
            Self::Locked { .. } => "give every controller of this machine its own `data` folder".to_owned(),
            Self::UnknownCluster { .. } => {
                "`slipway controller show` lists the clusters of controllers, and `slipway get clusters` those of the state store"
                    .to_owned()
            }
            Self::UnknownSource { .. } => "`slipway controller show` lists the sources of controllers".to_owned(),
            Self::Store(error) => return slipway_operations::store_hint(error),
            Self::Actor(error) => return error.hints().into_iter().next(),
            Self::Configuration { hint, .. } => return hint.map(str::to_owned),
            Self::Secret { source, .. } => return source.hint(),
            Self::File { .. } | Self::Listen { .. } | Self::NoStore => return None,
        })
    }

    /// Whether the same source may be readable later without a change of it: what was read before stays valid.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::TooSlow { .. }
                | Self::Bucket { .. }
                | Self::Oci { .. }
                | Self::Flux { .. }
                | Self::FluxNotReady { .. }
                | Self::Object { .. }
                | Self::Moved { .. }
                | Self::NoGit { .. }
                | Self::File { .. }
                | Self::Store(_)
        )
    }
}
