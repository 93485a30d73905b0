//! Keys and envelopes: encryption of secrets in the state store.
//!
//! A [`Keyring`] encrypts bytes into an envelope for every recipient of the user's configuration, and
//! decrypts envelopes with the available keys. [`SecretStore`] stores a cluster's secrets in envelopes,
//! [`SealedBackend`] also the rest of its state if the user wants that. [`FingerprintKey`] is the key with
//! which plans compare secrets. The encryption of data (the method) and the storage of its key (the key
//! provider) are separate: [`envelope`] knows no provider, and [`key`] no data. `docs/design/secrets.md`
//! describes the whole.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod age;
pub mod backend;
mod cipher;
mod encoding;
pub mod envelope;
mod error;
pub mod fingerprint;
#[allow(clippy::disallowed_methods, reason = "the caller's own keys")]
pub mod identity_file;
pub mod key;
mod keyring;
pub mod passphrase;
mod random;
pub mod rekey;
mod retry;
pub mod service;
pub mod sops;
pub mod store;

pub use backend::SealedBackend;
pub use envelope::{Context, Envelope, Expected};
pub use error::{Error, KEY_SERVICE, NO_KEY, Result, WRONG_KEY};
pub use fingerprint::FingerprintKey;
pub use key::{Identity, KeyName, Keys, Recipient, WrappedKey};
pub use keyring::{Keyring, Opened};
pub use store::SecretStore;
