//! The file format age (`age-encryption.org/v1`, the specification of C2SP) for X25519 recipients, on the primitives
//! of aws-lc-rs.
//!
//! Files that are written here open with `age`, `rage` and any other implementation, and the reverse. Stanzas
//! of other kinds (SSH keys, plugins, passphrases) are skipped when reading.

mod bech32;
mod file;
mod keys;
mod stream;

pub(crate) use file::dearmor;
pub use file::{decrypt, encrypt};
pub use keys::{Identity, Recipient};
