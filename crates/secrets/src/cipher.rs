//! The primitives, all of aws-lc-rs: AES-256-GCM, ChaCha20-Poly1305, HKDF and HMAC with SHA-256.

use aws_lc_rs::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// The length of every key here.
pub(crate) const KEY: usize = 32;
/// The length of a nonce of both ciphers.
pub(crate) const NONCE: usize = 12;
/// The length of the tag that both ciphers append.
pub(crate) const TAG: usize = 16;

/// A key that is wiped when it is dropped.
pub(crate) type Key = Zeroizing<[u8; KEY]>;

/// Encrypts with AES-256-GCM; the tag is appended.
pub(crate) fn aes_seal(key: &Key, nonce: [u8; NONCE], aad: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
    seal(&AES_256_GCM, key, nonce, aad, plain)
}

/// Decrypts with AES-256-GCM; nothing when key, nonce, associated data or bytes are not what they were.
pub(crate) fn aes_open(key: &[u8], nonce: &[u8], aad: &[u8], sealed: Vec<u8>) -> Option<Zeroizing<Vec<u8>>> {
    open(&AES_256_GCM, key, nonce, aad, sealed)
}

/// Encrypts with ChaCha20-Poly1305; the tag is appended.
pub(crate) fn chacha_seal(key: &Key, nonce: [u8; NONCE], plain: &[u8]) -> Result<Vec<u8>> {
    seal(&CHACHA20_POLY1305, key, nonce, &[], plain)
}

/// Decrypts with ChaCha20-Poly1305; nothing when key, nonce or bytes are not what they were.
pub(crate) fn chacha_open(key: &Key, nonce: [u8; NONCE], sealed: Vec<u8>) -> Option<Zeroizing<Vec<u8>>> {
    open(&CHACHA20_POLY1305, &**key, &nonce, &[], sealed)
}

fn seal(
    algorithm: &'static Algorithm,
    key: &Key,
    nonce: [u8; NONCE],
    aad: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>> {
    let refused = |_| Error::Crypto("the cipher refused to encrypt");
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &**key).map_err(refused)?);
    let mut bytes = Vec::with_capacity(plain.len() + TAG);
    bytes.extend_from_slice(plain);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut bytes)
        .map_err(refused)?;
    Ok(bytes)
}

fn open(
    algorithm: &'static Algorithm,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    sealed: Vec<u8>,
) -> Option<Zeroizing<Vec<u8>>> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?);
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut bytes = Zeroizing::new(sealed);
    let length = key.open_in_place(nonce, Aad::from(aad), &mut bytes).ok()?.len();
    bytes.truncate(length);
    Some(bytes)
}

/// Derives a key (RFC 5869).
pub(crate) fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Result<Key> {
    struct Length;
    impl KeyType for Length {
        fn len(&self) -> usize {
            KEY
        }
    }
    let mut key = Zeroizing::new([0; KEY]);
    Salt::new(HKDF_SHA256, salt)
        .extract(secret)
        .expand(&[info], Length)
        .and_then(|derived| derived.fill(&mut *key))
        .map_err(|_| Error::Crypto("no key can be derived"))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_derived_as_rfc_5869_has_it() {
        // Test case 1 of its appendix A, cut to 32 bytes.
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let key = derive(&[0x0b; 22], &salt, &info).unwrap();
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    }

    #[test]
    fn what_was_changed_is_not_opened() {
        let key = Zeroizing::new([7; KEY]);
        let sealed = aes_seal(&key, [1; NONCE], b"here", b"text").unwrap();
        assert_eq!(&**aes_open(&*key, &[1; NONCE], b"here", sealed.clone()).unwrap(), b"text");
        assert!(aes_open(&*key, &[1; NONCE], b"there", sealed.clone()).is_none());
        assert!(aes_open(&*key, &[2; NONCE], b"here", sealed.clone()).is_none());
        assert!(aes_open(&[8; KEY], &[1; NONCE], b"here", sealed.clone()).is_none());
        let mut bent = sealed;
        bent[0] ^= 1;
        assert!(aes_open(&*key, &[1; NONCE], b"here", bent).is_none());
    }
}
