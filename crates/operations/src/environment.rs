//! The environment that all operations of one caller share: the actor, the trust policy, the state store, the
//! keys and the providers.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use slipway_protocol::{Running, SearchPath};
use slipway_secrets::key::GivenKeys;
use slipway_secrets::{Keyring, age};
use slipway_state_store::{Backend, Options, Settings};
use slipway_trust::{Policy, TrustedUrl};

use crate::actor::Actor;
use crate::error::Error;
use crate::observe::{Ignore, Observer};
use crate::policies::Policies;
use crate::request::Approvals;

/// Where the state of clusters is.
#[derive(Clone)]
pub struct Store {
    /// The store, with decryption of encrypted objects.
    pub backend: Arc<dyn Backend>,
    /// Its name in messages, as its URL.
    pub place: String,
}

/// Reads the identities that open what SOPS has encrypted.
pub type Identities = Arc<dyn Fn() -> slipway_secrets::Result<Vec<age::Identity>> + Send + Sync>;

/// Fetches the manifests of add-ons.
#[async_trait]
pub trait Download: Send + Sync {
    /// The text at a URL. The policy is checked again for each redirect.
    ///
    /// # Errors
    /// Why the text cannot be fetched, in a sentence.
    async fn text(&self, url: &TrustedUrl, policy: &Policy) -> Result<String, String>;

    /// A text that was kept under its SHA-256.
    fn kept(&self, _sha256: &str) -> Option<String> {
        None
    }

    /// Keeps a text under its SHA-256 for the next time. What cannot be kept is fetched again.
    fn keep(&self, _sha256: &str, _text: &str) {}
}

/// Fetches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDownload;

#[async_trait]
impl Download for NoDownload {
    async fn text(&self, _url: &TrustedUrl, _policy: &Policy) -> Result<String, String> {
        Err("nothing is fetched here".to_owned())
    }
}

/// The processes of providers. They live until the caller ends them.
#[derive(Clone, Default)]
pub struct Processes(Arc<Mutex<Vec<Running>>>);

impl Processes {
    /// Keeps a process until [`Processes::end`].
    pub fn keep(&self, running: Running) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(running);
    }

    /// Ends all processes.
    pub async fn end(&self) {
        let running = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for process in running {
            process.end().await;
        }
    }
}

/// The environment that all operations of one caller share. It does not change.
#[derive(Clone)]
pub struct Environment {
    /// The caller.
    pub actor: Actor,
    /// The policy for names in specs.
    pub policy: Arc<Policy>,
    /// Where the state is. Without a state everything is planned offline: against nothing, and without credentials.
    pub store: Option<Store>,
    /// The keys that seal and open secrets in the state.
    pub keyring: Arc<Keyring>,
    /// The identities that open what SOPS has encrypted.
    pub identities: Identities,
    /// Where providers are looked for that are not linked in.
    pub search_path: SearchPath,
    /// The providers' processes.
    pub processes: Processes,
    /// The terms of holding a cluster, such as the lease.
    pub lease: Options,
    /// How old the read may be by which a step checks its object: [`slipway_engine::READ_AGE`], except in tests.
    pub read_age: Duration,
    /// How many steps of a run are carried out at the same time at most, without those on hosts and inside the cluster; without it,
    /// only the providers set limits.
    pub parallelism: Option<NonZeroUsize>,
    /// The approvals that every change of a cluster needs, by the policy of the caller.
    pub approvals: Approvals,
    /// The policies that every plan has to satisfy.
    pub policies: Policies,
    /// Gets the events of the operations.
    pub observer: Arc<dyn Observer>,
    /// Fetches manifests.
    pub downloads: Arc<dyn Download>,
    /// The access to buckets in which another tool keeps the keys of its clusters. Without it, no such bucket is read.
    pub buckets: Option<Settings>,
}

impl Environment {
    /// An environment without state, keys, and providers other than those that are linked in.
    #[must_use]
    pub fn new(actor: Actor, policy: Policy) -> Self {
        let keys = GivenKeys { recipients: Vec::new(), identities: Vec::new() };
        Self {
            actor,
            policy: Arc::new(policy),
            store: None,
            keyring: Arc::new(Keyring::new(Arc::new(keys))),
            identities: Arc::new(|| Ok(Vec::new())),
            search_path: SearchPath::new([]),
            processes: Processes::default(),
            lease: Options::default(),
            read_age: slipway_engine::READ_AGE,
            parallelism: None,
            approvals: Approvals::default(),
            policies: Policies::default(),
            observer: Arc::new(Ignore),
            downloads: Arc::new(NoDownload),
            buckets: None,
        }
    }

    /// The same with a state.
    #[must_use]
    pub fn with_store(self, backend: Arc<dyn Backend>, place: impl Into<String>) -> Self {
        Self { store: Some(Store { backend, place: place.into() }), ..self }
    }

    /// The same without a state.
    #[must_use]
    pub fn offline(self) -> Self {
        Self { store: None, ..self }
    }

    /// The same with keys for secrets.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<Keyring>) -> Self {
        Self { keyring, ..self }
    }

    /// The same with an observer.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// The same with a limit for the steps of a run that are carried out at the same time.
    #[must_use]
    pub fn with_parallelism(self, parallelism: Option<NonZeroUsize>) -> Self {
        Self { parallelism, ..self }
    }

    /// The store, for operations that need one.
    pub(crate) fn store(&self, cluster: &str) -> Result<&Store, Error> {
        self.store.as_ref().ok_or_else(|| Error::NoState { cluster: cluster.to_owned() })
    }
}
