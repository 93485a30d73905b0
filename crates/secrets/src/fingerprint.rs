//! The key with which plans compare secrets without having them.

use aws_lc_rs::hmac;
use slipway_resource::{ClusterUid, SecretText, hexadecimal};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::random;

const FORM: &str = "hmac-sha256";

/// A cluster's random key for fingerprints. It is stored encrypted in the state store.
#[derive(Clone)]
pub struct FingerprintKey {
    id: String,
    key: hmac::Key,
}

impl std::fmt::Debug for FingerprintKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "FingerprintKey({})", self.id)
    }
}

impl FingerprintKey {
    /// The length of a key in bytes.
    pub const LENGTH: usize = 32;

    /// The bytes of a new key.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Zeroizing<[u8; Self::LENGTH]>> {
        random::key()
    }

    /// The key with these bytes.
    ///
    /// # Errors
    /// When there are too few or too many.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != Self::LENGTH {
            let reason = "it does not have 32 bytes".to_owned();
            return Err(Error::Malformed { what: "a key for fingerprints", reason });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let id = hexadecimal(hmac::sign(&key, b"id").as_ref()).get(..8).unwrap_or_default().to_owned();
        Ok(Self { id, key })
    }

    /// The fingerprint of a secret, as `hmac-sha256:<key>:<64 digits>`, where `<key>` are 8 digits that tell
    /// keys apart. It shows whether the secret changed, and reveals nothing without the key.
    #[must_use]
    pub fn fingerprint(&self, text: &SecretText) -> String {
        let Self { id, key } = self;
        format!("{FORM}:{id}:{}", hexadecimal(hmac::sign(key, text.expose().as_bytes()).as_ref()))
    }

    /// Whether a fingerprint was made with this key.
    #[must_use]
    pub fn has_made(&self, fingerprint: &str) -> bool {
        fingerprint.strip_prefix(FORM).is_some_and(|rest| rest.starts_with(&format!(":{}:", self.id)))
    }

    /// Whether two fingerprints are of this key and of different texts.
    #[must_use]
    pub fn contradicts(&self, one: &str, other: &str) -> bool {
        self.has_made(one) && self.has_made(other) && one != other
    }
}

/// Whether a fingerprint has the form that was used before clusters had a fingerprint key.
#[must_use]
pub fn is_older(fingerprint: &str) -> bool {
    !fingerprint.contains(':')
}

/// A fingerprint of the older form, under the cluster's unique id, which is not secret. Only for comparison
/// with a recorded one.
#[must_use]
pub fn older(uid: &ClusterUid, text: &SecretText) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, uid.as_str().as_bytes());
    hexadecimal(hmac::sign(&key, text.expose().as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_needs_its_key() {
        let (one, other) = (FingerprintKey::new(&[1; 32]).unwrap(), FingerprintKey::new(&[2; 32]).unwrap());
        let text = SecretText::new("hunter2");
        assert_eq!(one.fingerprint(&text), FingerprintKey::new(&[1; 32]).unwrap().fingerprint(&text));
        assert_ne!(one.fingerprint(&text), other.fingerprint(&text));
        assert_ne!(one.fingerprint(&text), one.fingerprint(&SecretText::new("hunter3")));
        assert!(!is_older(&one.fingerprint(&text)) && is_older(&older(&ClusterUid::new("u"), &text)));
        assert_eq!(FingerprintKey::new(b"short").unwrap_err().code(), "SECRET0001");
    }
}
