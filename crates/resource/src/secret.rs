//! Values that may be used and never shown.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

use crate::Address;

/// The prefix of the source of a secret that the cluster keeps itself.
const KEPT: &str = "state:";

/// The text of a secret. It has no `Display`, its `Debug` hides it, it cannot be serialised, and it is wiped from memory
/// when it is dropped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one call that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// A secret value: where it comes from, a keyed fingerprint to compare by, and, only in memory, its text.
///
/// Two secrets are equal when their fingerprints are. Serialising keeps the source and the fingerprint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// Where the text is read from, as `env:NAME`, `file:path`, `sops:path#key` or `state:type.name#field`.
    pub source: String,
    /// HMAC-SHA-256 of the text under the cluster's key; absent until it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The text, present only while it is needed.
    #[serde(skip)]
    pub text: Option<SecretText>,
}

impl Secret {
    /// A secret of which only the source is known.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), fingerprint: None, text: None }
    }

    /// A secret that a resource of the same cluster keeps in its state: `state:type.name#field`. What uses it comes
    /// after that resource.
    #[must_use]
    pub fn kept(address: &Address, field: &str) -> Self {
        Self::new(format!("{KEPT}{address}#{field}"))
    }

    /// The resource that keeps it, and the field; none for a secret that the user supplies.
    #[must_use]
    pub fn keeper(&self) -> Option<(Address, &str)> {
        let (address, field) = self.source.strip_prefix(KEPT)?.rsplit_once('#')?;
        Some((address.parse().ok()?, field))
    }

    fn key(&self) -> (Option<&str>, &str) {
        // The source matters only while there is no fingerprint: the same secret may move to another place.
        match &self.fingerprint {
            Some(fingerprint) => (Some(fingerprint), ""),
            None => (None, &self.source),
        }
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Secret {}

impl PartialOrd for Secret {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Secret {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_secret_names_its_keeper() {
        let secret = Secret::kept(&"keypair.etcd-ca".parse().unwrap(), "private_key_pem");
        assert_eq!(secret.source, "state:keypair.etcd-ca#private_key_pem");
        let (address, field) = secret.keeper().unwrap();
        assert_eq!((address.to_string().as_str(), field), ("keypair.etcd-ca", "private_key_pem"));
        assert_eq!(Secret::new("env:A").keeper(), None);
    }

    #[test]
    fn the_text_is_in_no_output() {
        let secret = Secret { text: Some(SecretText::new("hunter2")), ..Secret::new("env:PASSWORD") };
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(!serde_json::to_string(&secret).unwrap().contains("hunter2"));
    }
}
