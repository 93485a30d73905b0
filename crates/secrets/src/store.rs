//! A cluster's secrets in its state store.
//!
//! ```text
//! <cluster>/secrets/<name>/<generation>-<token>
//! ```
//!
//! A secret is never overwritten: a new value is a new object of the next generation. The valid value is the
//! one that the state names, by generation and token. The state never names an object that a holder wrote
//! after it had lost the cluster, like a snapshot that was never committed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, ClusterName, Journal, Key, Prefix};
use zeroize::Zeroizing;

use crate::envelope::{Context, Envelope, Expected};
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintKey;
use crate::key::Recipient;
use crate::keyring::{Keyring, Opened};
use crate::retry;

/// The name of the key for fingerprints among a cluster's secrets.
pub const FINGERPRINT_KEY: &str = "fingerprint-key";

/// The folder of a cluster's secrets.
pub(crate) const FOLDER: &str = "secrets";

/// One value of one secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretReference {
    /// The secret's name.
    pub name: String,
    /// The number of the value, counted from 1.
    pub generation: u64,
    /// The token of the step that wrote it.
    pub token: String,
}

impl fmt::Display for SecretReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{:012}-{}", self.name, self.generation, self.token)
    }
}

impl FromStr for SecretReference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = || {
            let (name, rest) = text.split_once('/')?;
            let (generation, token) = rest.split_once('-')?;
            let generation = generation.parse().ok()?;
            Some(Self { name: name.to_owned(), generation, token: token.to_owned() })
        };
        let reason = || format!("`{text}` is not name/generation-token");
        parsed().ok_or_else(|| Error::Malformed { what: "the name of a secret", reason: reason() })
    }
}

/// The secrets of one cluster.
#[derive(Clone, Debug)]
pub struct SecretStore {
    backend: Arc<dyn Backend>,
    keyring: Arc<Keyring>,
    cluster: ClusterName,
    uid: String,
}

impl SecretStore {
    /// The secrets of the cluster with a name and a unique id.
    #[must_use]
    pub fn new(
        backend: Arc<dyn Backend>,
        keyring: Arc<Keyring>,
        cluster: ClusterName,
        uid: impl Into<String>,
    ) -> Self {
        Self { backend, keyring, cluster, uid: uid.into() }
    }

    /// Stores a value as the next generation of a secret, encrypted also for further recipients. Repeated with
    /// the same token it stores nothing new, and returns the first reference.
    ///
    /// # Errors
    /// When the hold on the cluster was lost, no key to encrypt with is available, or the store fails.
    pub async fn put(
        &self,
        fence: &Journal,
        (name, token): (&str, &str),
        value: &[u8],
        also: &[Arc<dyn Recipient>],
    ) -> Result<SecretReference> {
        let known = self.list(name).await?;
        if let Some(stored) = known.iter().find(|reference| reference.token == token) {
            return Ok(stored.clone());
        }
        let generation = known.last().map_or(0, |last| last.generation) + 1;
        let reference = SecretReference { name: name.to_owned(), generation, token: token.to_owned() };
        let key = self.key(&reference)?;
        let bytes = self.keyring.seal_also(self.context(&key, generation), value, also).await?;
        let mut attempt = 1;
        loop {
            fence.valid().await?;
            match self.backend.create(&key, bytes.clone().into()).await {
                // Only an earlier attempt of the same step has this token.
                Ok(_) | Err(BackendError::AlreadyExists { .. }) => return Ok(reference),
                Err(error) if retry::again(attempt, &error).await => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Encrypts a stored value again, with a new record of it, for the present recipients and for further ones.
    /// The object is replaced atomically; repeated, it is replaced once more.
    ///
    /// # Errors
    /// When it is not stored, the hold on the cluster was lost, a key provider refuses, or the store fails.
    pub async fn replace(
        &self,
        fence: &Journal,
        reference: &SecretReference,
        value: &[u8],
        also: &[Arc<dyn Recipient>],
    ) -> Result<()> {
        let key = self.key(reference)?;
        let context = self.context(&key, reference.generation);
        let bytes = self.keyring.seal_also(context, value, also).await?;
        let mut attempt = 1;
        loop {
            let Some((_, tag)) = self.backend.get(&key).await? else {
                return Err(Error::Missing { path: key.to_string() });
            };
            fence.valid().await?;
            match self.backend.update(&key, bytes.clone().into(), &tag).await {
                Ok(_) => return Ok(()),
                // Under the hold, only an earlier attempt with a lost answer can have changed it.
                Err(BackendError::Conflict { .. }) if attempt > 1 => {}
                Err(error) if retry::again(attempt, &error).await => {}
                Err(error) => return Err(error.into()),
            }
            attempt += 1;
        }
    }

    /// The value that a reference names.
    ///
    /// # Errors
    /// When it is not stored, is damaged, or no available key opens it.
    pub async fn get(&self, reference: &SecretReference) -> Result<Zeroizing<Vec<u8>>> {
        Ok(self.open(reference).await?.plain)
    }

    /// The value that a reference names, with the recipients that it is encrypted for.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn open(&self, reference: &SecretReference) -> Result<Opened> {
        let key = self.key(reference)?;
        let Some((bytes, _)) = self.backend.get(&key).await? else {
            return Err(Error::Missing { path: key.to_string() });
        };
        let expected =
            Expected { path: key.as_str(), uid: Some(&self.uid), generation: Some(reference.generation) };
        self.keyring.open(&expected, &bytes).await
    }

    /// The unique id of the cluster that a value was encrypted for; `None` when it is not stored. Decrypts
    /// nothing.
    ///
    /// # Errors
    /// When the store fails, or the object is not an envelope.
    pub async fn owner(&self, reference: &SecretReference) -> Result<Option<String>> {
        let key = self.key(reference)?;
        let Some((bytes, _)) = self.backend.get(&key).await? else { return Ok(None) };
        Ok(Envelope::read(&Expected::at(key.as_str()), &bytes)?.context.uid)
    }

    /// The values of a secret, the oldest first. Decrypts nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, name: &str) -> Result<Vec<SecretReference>> {
        self.below(&Prefix::new(&format!("{}/{FOLDER}/{name}", self.cluster))?).await
    }

    /// All values of all secrets.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_all(&self) -> Result<Vec<SecretReference>> {
        self.below(&Prefix::new(&format!("{}/{FOLDER}", self.cluster))?).await
    }

    /// Removes a value, if it exists.
    ///
    /// # Errors
    /// When the hold on the cluster was lost, or the store fails.
    pub async fn delete(&self, fence: &Journal, reference: &SecretReference) -> Result<()> {
        fence.valid().await?;
        Ok(self.backend.delete(&self.key(reference)?).await?)
    }

    /// Removes every secret of a deleted cluster.
    ///
    /// # Errors
    /// When the hold on the cluster was lost, or the store fails. Secrets that were removed until then stay
    /// removed.
    pub async fn purge(&self, fence: &Journal) -> Result<()> {
        for reference in self.list_all().await? {
            self.delete(fence, &reference).await?;
        }
        Ok(())
    }

    /// The cluster's key for fingerprints; `None` before it has one.
    ///
    /// # Errors
    /// When it is damaged, or no available key opens it.
    pub async fn fingerprint_key(&self) -> Result<Option<FingerprintKey>> {
        for reference in self.list(FINGERPRINT_KEY).await? {
            let key = self.key(&reference)?;
            let Some((bytes, _)) = self.backend.get(&key).await? else { continue };
            let envelope = Envelope::read(&Expected::at(key.as_str()), &bytes)?;
            if envelope.context.uid.as_deref() != Some(&self.uid) {
                // It belongs to an earlier cluster of the same name.
                continue;
            }
            return FingerprintKey::new(&self.get(&reference).await?).map(Some);
        }
        Ok(None)
    }

    /// The cluster's key for fingerprints, created now if it has none. Of several keys that were created at
    /// once, the first is valid for all processes.
    ///
    /// # Errors
    /// As [`Self::fingerprint_key`] and [`Self::put`].
    pub async fn fingerprint_key_or_new(&self, fence: &Journal) -> Result<FingerprintKey> {
        if let Some(key) = self.fingerprint_key().await? {
            return Ok(key);
        }
        let fresh = FingerprintKey::generate()?;
        self.put(fence, (FINGERPRINT_KEY, &self.uid), &*fresh, &[]).await?;
        let stored = self.fingerprint_key().await?;
        stored.ok_or_else(|| Error::Missing { path: format!("{}/{FOLDER}/{FINGERPRINT_KEY}", self.cluster) })
    }

    async fn below(&self, prefix: &Prefix) -> Result<Vec<SecretReference>> {
        let root = format!("{}/{FOLDER}/", self.cluster);
        let keys = self.backend.list(prefix).await?;
        keys.iter().filter_map(|key| key.as_str().strip_prefix(&root)).map(str::parse).collect()
    }

    /// What the value at a key is bound to.
    fn context(&self, key: &Key, generation: u64) -> Context {
        let (path, cluster) = (key.to_string(), self.cluster.to_string());
        Context { path, cluster, uid: Some(self.uid.clone()), generation }
    }

    fn key(&self, reference: &SecretReference) -> Result<Key> {
        Ok(Key::new(format!("{}/{FOLDER}/{reference}", self.cluster))?)
    }
}
