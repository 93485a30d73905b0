//! Keys from passphrases: Argon2id (RFC 9106), then AES-256-GCM.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use argon2::{Algorithm, Argon2, Params, Version};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use slipway_resource::SecretText;
use zeroize::Zeroizing;

use crate::cipher::{self, KEY, Key, NONCE};
use crate::error::{Error, Result};
use crate::key::{DataKey, Identity, KeyName, Method, Recipient, WrappedKey};
use crate::random;

/// The name of a passphrase that was given none.
pub const DEFAULT_NAME: &str = "default";

/// How a wrapping key is derived from a passphrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derivation {
    /// The function; there is one.
    pub function: Function,
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes of the memory.
    pub lanes: u32,
    /// The salt, with which equal passphrases give different keys.
    #[serde(with = "crate::encoding")]
    pub salt: Vec<u8>,
}

/// A function that derives keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// Argon2id, version 1.3.
    Argon2id,
}

/// The maximum cost of a derivation in an envelope: 1 GiB and 16 passes over it. More than that is an attack.
const MOST_MEMORY: u32 = 1 << 20;
const MOST_PASSES: u32 = 16;
const MOST_LANES: u32 = 64;

impl Derivation {
    /// The second recommended option of RFC 9106, with a fresh salt.
    fn fresh() -> Result<Self> {
        let salt = random::bytes::<16>()?.to_vec();
        Ok(Self { function: Function::Argon2id, memory: 64 << 10, passes: 3, lanes: 4, salt })
    }

    fn derive(&self, passphrase: &SecretText) -> Result<Key> {
        let refused = || Error::InvalidKey {
            what: "the derivation of a passphrase's key".to_owned(),
            reason: "its parameters are out of bounds".to_owned(),
        };
        if self.memory > MOST_MEMORY || self.passes > MOST_PASSES || self.lanes > MOST_LANES {
            return Err(refused());
        }
        let params = Params::new(self.memory, self.passes, self.lanes, Some(KEY)).map_err(|_| refused())?;
        let mut key = Zeroizing::new([0; KEY]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.expose().as_bytes(), &self.salt, &mut *key)
            .map_err(|_| refused())?;
        Ok(key)
    }
}

/// A passphrase, to seal for and to open with.
///
/// Deriving a key takes a tenth of a second and 64 MiB; keys are kept in memory, and a key that was derived to open an
/// envelope is used to seal the next, so that a whole state has few salts.
pub struct Passphrase {
    name: KeyName,
    text: SecretText,
    derived: Mutex<BTreeMap<Derivation, Key>>,
}

impl Passphrase {
    /// A passphrase with a name, which envelopes have in clear.
    ///
    /// # Errors
    /// When it is empty.
    pub fn new(name: impl Into<String>, text: SecretText) -> Result<Self> {
        if text.expose().is_empty() {
            let reason = "it is empty".to_owned();
            return Err(Error::InvalidKey { what: "the passphrase".to_owned(), reason });
        }
        let name = KeyName { method: Method::Passphrase, id: name.into() };
        Ok(Self { name, text, derived: Mutex::default() })
    }

    /// The key of a derivation, which is kept by [`Self::keep`] when it has turned out to be the right one: who writes
    /// a false envelope should not choose the salt of the next.
    fn key(&self, derivation: &Derivation) -> Result<Key> {
        let known = self.derived.lock().unwrap_or_else(PoisonError::into_inner).get(derivation).cloned();
        known.map_or_else(|| derivation.derive(&self.text), Ok)
    }

    fn keep(&self, derivation: &Derivation, key: Key) {
        self.derived.lock().unwrap_or_else(PoisonError::into_inner).insert(derivation.clone(), key);
    }

    /// A derivation whose key is known to be this passphrase's, or else a fresh one.
    fn derivation(&self) -> Result<Derivation> {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        derived.keys().next().cloned().map_or_else(Derivation::fresh, Ok)
    }
}

#[async_trait]
impl Recipient for Passphrase {
    fn name(&self) -> KeyName {
        self.name.clone()
    }

    async fn wrap(&self, key: &DataKey, scope: &str) -> Result<WrappedKey> {
        let derivation = self.derivation()?;
        let nonce = random::bytes::<NONCE>()?;
        let wrapping = self.key(&derivation)?;
        let sealed = cipher::aes_seal(&wrapping, nonce, scope.as_bytes(), key.expose())?;
        self.keep(&derivation, wrapping);
        let wrapped = [&nonce, sealed.as_slice()].concat();
        Ok(WrappedKey { name: self.name.clone(), derivation: Some(derivation), wrapped })
    }
}

#[async_trait]
impl Identity for Passphrase {
    fn claims(&self, name: &KeyName) -> bool {
        // Its name says which one to look for; whether it is that one shows when it is tried.
        name.method == Method::Passphrase
    }

    async fn unwrap(&self, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>> {
        let Some(derivation) = &wrapped.derivation else { return Ok(None) };
        let Some((nonce, sealed)) = wrapped.wrapped.split_at_checked(NONCE) else { return Ok(None) };
        let key = self.key(derivation)?;
        let opened = cipher::aes_open(&*key, nonce, scope.as_bytes(), sealed.to_vec());
        if opened.is_some() {
            self.keep(derivation, key);
        }
        Ok(opened.and_then(|key| DataKey::from_bytes(&key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_passphrase_opens_it_and_another_does_not() {
        let passphrase = |text: &str| Passphrase::new(DEFAULT_NAME, SecretText::new(text)).unwrap();
        let key = DataKey::from_bytes(&[4; 32]).unwrap();
        let wrapped = passphrase("correct horse").wrap(&key, "prod").await.unwrap();
        let again = passphrase("correct horse");
        assert_eq!(again.unwrap(&wrapped, "prod").await.unwrap().unwrap().expose(), key.expose());
        assert!(again.unwrap(&wrapped, "other").await.unwrap().is_none(), "for another cluster");
        assert!(passphrase("wrong horse").unwrap(&wrapped, "prod").await.unwrap().is_none());
        let next = again.wrap(&key, "prod").await.unwrap();
        assert_eq!(next.derivation, wrapped.derivation, "the salt is used again");
        assert_ne!(next.wrapped, wrapped.wrapped);
    }

    #[tokio::test]
    async fn a_derivation_that_asks_for_too_much_is_refused() {
        let passphrase = Passphrase::new(DEFAULT_NAME, SecretText::new("x")).unwrap();
        let key = DataKey::from_bytes(&[4; 32]).unwrap();
        let mut wrapped = passphrase.wrap(&key, "prod").await.unwrap();
        if let Some(derivation) = &mut wrapped.derivation {
            derivation.memory = u32::MAX;
        }
        assert_eq!(passphrase.unwrap(&wrapped, "prod").await.unwrap_err().code(), "SECRET0008");
        assert!(Passphrase::new("", SecretText::new("")).is_err());
    }
}
