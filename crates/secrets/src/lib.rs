//! Keys and envelopes: how secrets lie in the state store.
//!
//! A [`Keyring`] seals bytes into an envelope for every recipient of the user's configuration, and opens envelopes
//! with the keys that are at hand. [`SecretStore`] keeps a cluster's secrets so, [`SealedBackend`] everything else
//! of its state where the user wants that, and [`FingerprintKey`] is the key under which plans compare secrets.
//! How data is encrypted (the method) and how its key is kept (the key provider) are apart: [`envelope`] knows no
//! provider, and [`key`] no data. The whole is described in `docs/design/secrets.md`.

pub mod age;
pub mod backend;
mod cipher;
mod encoding;
pub mod envelope;
mod error;
pub mod fingerprint;
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
pub use error::{Error, Result};
pub use fingerprint::FingerprintKey;
pub use key::{Identity, KeyName, Keys, Recipient, WrappedKey};
pub use keyring::{Keyring, Opened};
pub use store::SecretStore;
