//! The key providers, which wrap and unwrap data keys.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::age;
use crate::cipher::Key;
use crate::error::Result;
use crate::passphrase::Derivation;

/// The key that encrypts objects. It is never stored unwrapped, and is wiped when it is dropped.
#[derive(Clone)]
pub struct DataKey(pub(crate) Key);

impl fmt::Debug for DataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(data key)")
    }
}

impl DataKey {
    /// The key's bytes, for the one call that wraps it.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &*self.0
    }

    /// A key of 32 bytes; `None` for any other length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(Key::new(bytes)))
    }
}

/// The kind of key provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A public key of age.
    Age,
    /// A passphrase.
    Passphrase,
    /// The key service of a provider module.
    KeyService,
}

/// The name of a key. It is not secret: envelopes and messages have it in plain text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyName {
    /// The kind of key provider.
    pub method: Method,
    /// The key: a recipient, the name of a passphrase, `provider:key` of a key service.
    pub id: String,
}

impl KeyName {
    /// The name of a key of a provider's key service.
    #[must_use]
    pub fn of_service(provider: &str, key: &str) -> Self {
        Self { method: Method::KeyService, id: format!("{provider}:{key}") }
    }

    /// The provider and the key, of a key of a key service.
    #[must_use]
    pub fn service(&self) -> Option<(&str, &str)> {
        self.id.split_once(':').filter(|_| self.method == Method::KeyService)
    }

    /// How to make the key available, in a sentence.
    #[must_use]
    pub fn how_to_give(&self) -> String {
        let Self { method, id } = self;
        match method {
            Method::Age => format!(
                "name a file with the identity of {id} in SLIPWAY_AGE_IDENTITY_FILE, or in \
                 `[encryption] age-identity-files` of the configuration file"
            ),
            Method::Passphrase => {
                "put the passphrase into SLIPWAY_PASSPHRASE, or name a file with it in SLIPWAY_PASSPHRASE_FILE"
                    .to_owned()
            }
            Method::KeyService => {
                let (provider, key) = self.service().unwrap_or((id, ""));
                format!(
                    "name provider `{provider}` with key `{key}` in `[[encryption.key-services]]` of the \
                     configuration file"
                )
            }
        }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, id } = self;
        match method {
            Method::Age => write!(formatter, "the age recipient {id}"),
            Method::Passphrase => write!(formatter, "the passphrase `{id}`"),
            Method::KeyService => write!(formatter, "the service key {id}"),
        }
    }
}

/// A data key as one key provider has wrapped it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrappedKey {
    /// The wrapping key.
    pub name: KeyName,
    /// For a passphrase: how the wrapping key is derived from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivation: Option<Derivation>,
    /// The wrapped key: an age file, a nonce and ciphertext, or the answer of the key service.
    #[serde(with = "crate::encoding")]
    pub wrapped: Vec<u8>,
}

/// A recipient of encrypted objects.
#[async_trait]
pub trait Recipient: Send + Sync {
    /// The key's name.
    fn name(&self) -> KeyName;

    /// Wraps a data key. `scope` says its purpose and, if the method allows it, is needed to unwrap the key.
    ///
    /// # Errors
    /// When the key provider refuses.
    async fn wrap(&self, key: &DataKey, scope: &str) -> Result<WrappedKey>;
}

/// An available key.
#[async_trait]
pub trait Identity: Send + Sync {
    /// Whether this is meant to be the key of that name.
    fn claims(&self, name: &KeyName) -> bool;

    /// Unwraps a data key that was wrapped for a name that this key claims, with the same scope; `None` when
    /// this is another key of that name.
    ///
    /// # Errors
    /// When the key provider refuses.
    async fn unwrap(&self, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>>;
}

/// The source of keys: the user's configuration and environment. It is read when the first key is needed.
#[async_trait]
pub trait Keys: Send + Sync {
    /// Whether there is a recipient, without creating a key first.
    ///
    /// # Errors
    /// When a key cannot be used.
    async fn is_ready(&self) -> Result<bool> {
        Ok(!self.recipients().await?.is_empty())
    }

    /// The recipients. Each of them can decrypt.
    ///
    /// # Errors
    /// When a key cannot be used, or there is no recipient.
    async fn recipients(&self) -> Result<Vec<Arc<dyn Recipient>>>;

    /// The available keys, those without user interaction or network access first.
    ///
    /// # Errors
    /// When a key cannot be read.
    async fn identities(&self) -> Result<Vec<Arc<dyn Identity>>>;
}

/// Given keys.
#[derive(Default)]
pub struct GivenKeys {
    /// The recipients.
    pub recipients: Vec<Arc<dyn Recipient>>,
    /// The available keys.
    pub identities: Vec<Arc<dyn Identity>>,
}

impl GivenKeys {
    /// One age identity, for encryption and decryption.
    #[must_use]
    pub fn of_identity(identity: age::Identity) -> Self {
        let recipient = Arc::new(identity.recipient().clone());
        Self { recipients: vec![recipient], identities: vec![Arc::new(identity)] }
    }
}

#[async_trait]
impl Keys for GivenKeys {
    async fn recipients(&self) -> Result<Vec<Arc<dyn Recipient>>> {
        Ok(self.recipients.clone())
    }

    async fn identities(&self) -> Result<Vec<Arc<dyn Identity>>> {
        Ok(self.identities.clone())
    }
}

#[async_trait]
impl Recipient for age::Recipient {
    fn name(&self) -> KeyName {
        KeyName { method: Method::Age, id: self.to_string() }
    }

    async fn wrap(&self, key: &DataKey, _scope: &str) -> Result<WrappedKey> {
        let wrapped = age::encrypt(std::slice::from_ref(self), key.expose())?;
        Ok(WrappedKey { name: self.name(), derivation: None, wrapped })
    }
}

#[async_trait]
impl Identity for age::Identity {
    fn claims(&self, name: &KeyName) -> bool {
        *name == self.recipient().name()
    }

    async fn unwrap(&self, wrapped: &WrappedKey, _scope: &str) -> Result<Option<DataKey>> {
        Ok(age::decrypt(&[self], &wrapped.wrapped)?.and_then(|key| DataKey::from_bytes(&key)))
    }
}
