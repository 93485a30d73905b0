//! Ed25519 keys in PEM: private ones in PKCS #8 (RFC 5958), public ones as `SubjectPublicKeyInfo` (RFC 8410).

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use der::pem::{self, LineEnding};

/// The bytes of a `SubjectPublicKeyInfo` before the 32 bytes of an Ed25519 key.
const PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The size of an Ed25519 key.
const LENGTH: usize = 32;

/// A key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not an Ed25519 key in PEM.
    #[error("it is not an Ed25519 key in PEM")]
    Unreadable,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// A private key.
#[derive(Debug)]
pub struct PrivateKey(Ed25519KeyPair);

impl PrivateKey {
    /// A new key, in PEM.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<String, KeyError> {
        let document =
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::NoRandom)?;
        pem::encode_string("PRIVATE KEY", LineEnding::LF, document.as_ref()).map_err(|_| KeyError::Unreadable)
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When it is no private key of this kind.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let (label, bytes) = pem::decode_vec(text.as_bytes()).map_err(|_| KeyError::Unreadable)?;
        if label != "PRIVATE KEY" {
            return Err(KeyError::Unreadable);
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes).map_err(|_| KeyError::Unreadable)?;
        Ok(Self(pair))
    }

    /// Signs a message.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }

    /// The public key.
    ///
    /// # Errors
    /// When it cannot be written, which does not happen for a key that was read.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        let bytes = self.0.public_key().as_ref().try_into().map_err(|_| KeyError::Unreadable)?;
        Ok(PublicKey(bytes))
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; LENGTH]);

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// When it is no public key of this kind.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let (label, bytes) = pem::decode_vec(text.as_bytes()).map_err(|_| KeyError::Unreadable)?;
        let key = bytes.strip_prefix(&PREFIX).and_then(|key| key.try_into().ok());
        key.filter(|_| label == "PUBLIC KEY").map(Self).ok_or(KeyError::Unreadable)
    }

    /// The key in PEM.
    ///
    /// # Errors
    /// When it cannot be written, which does not happen for a key that was read.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let bytes = [PREFIX.as_slice(), &self.0].concat();
        pem::encode_string("PUBLIC KEY", LineEnding::LF, &bytes).map_err(|_| KeyError::Unreadable)
    }

    /// Whether the signature of a message was made with the private key.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_signs_and_survives_its_text() {
        let private = PrivateKey::read(&PrivateKey::generate().unwrap()).unwrap();
        let text = private.public().unwrap().to_pem().unwrap();
        let public = PublicKey::read(&text).unwrap();
        let signature = private.sign(b"message");
        assert!(public.verifies(b"message", &signature) && !public.verifies(b"other", &signature));
        let other = PrivateKey::read(&PrivateKey::generate().unwrap()).unwrap();
        assert!(!other.public().unwrap().verifies(b"message", &signature));
        assert_eq!(PublicKey::read("no key").unwrap_err(), KeyError::Unreadable);
        assert_eq!(PrivateKey::read(&text).unwrap_err(), KeyError::Unreadable);
    }
}
