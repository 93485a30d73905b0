//! Sealing snapshots: AES-256-GCM under keys that are derived from the private key of etcd's authority.
//!
//! The authority's key is on every control plane and, encrypted, in the state of the cluster. So control
//! planes need no further secret, and a cluster whose state was rebuilt from its machines can still decrypt
//! its snapshots. For each object, a new key is derived with a random salt (HKDF-SHA-256, RFC 5869). The
//! place of the object is authenticated, too: an object that was changed, moved, or encrypted with another
//! key cannot be decrypted.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use slipway_bootstrap::pki::PrivateKey;
use zeroize::Zeroizing;

const KEY: usize = 32;
const SALT: usize = 32;

/// The first bytes of every object.
const HEAD: &[u8] = b"slipway-etcd/1\n";

const INFO: &[u8] = b"slipway-etcd-snapshot/1/AES-256-GCM";

/// Seals and opens the objects of snapshots.
pub(crate) struct Seal {
    secret: Zeroizing<Vec<u8>>,
    /// Secrets of former authorities, which only open.
    former: Vec<Zeroizing<Vec<u8>>>,
}

impl Seal {
    /// By the private key of etcd's authority, in PEM.
    pub(crate) fn of_authority(key_pem: &str) -> Result<Self, String> {
        Ok(Self { secret: secret(key_pem)?, former: Vec::new() })
    }

    /// The same, which also opens what the private key of a former authority has sealed.
    pub(crate) fn opening(mut self, former_key_pem: &str) -> Result<Self, String> {
        self.former.push(secret(former_key_pem)?);
        Ok(self)
    }

    /// Seals bytes for a place.
    pub(crate) fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        let mut salt = [0; SALT];
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| "the system gives no random numbers".to_owned())?;
        let mut bytes = Vec::with_capacity(HEAD.len() + SALT + plain.len() + AES_256_GCM.tag_len());
        bytes.extend_from_slice(HEAD);
        bytes.extend_from_slice(&salt);
        let mut sealed = plain.to_vec();
        key(&self.secret, &salt)?
            .seal_in_place_append_tag(nonce(), Aad::from(place.as_bytes()), &mut sealed)
            .map_err(|_| "the cipher refused to encrypt".to_owned())?;
        bytes.extend_from_slice(&sealed);
        Ok(bytes)
    }

    /// Decrypts an object of a place.
    pub(crate) fn open(&self, place: &str, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let rest = bytes.strip_prefix(HEAD).ok_or("it is no part of a snapshot that this version reads")?;
        let (salt, sealed) = rest.split_at_checked(SALT).ok_or("it is cut off")?;
        for secret in std::iter::once(&self.secret).chain(&self.former) {
            let mut opened = Zeroizing::new(sealed.to_vec());
            let result = key(secret, salt)?.open_in_place(nonce(), Aad::from(place.as_bytes()), &mut opened);
            let Ok(length) = result.map(|text| text.len()) else { continue };
            opened.truncate(length);
            return Ok(opened);
        }
        Err("it was damaged, moved, or sealed by another authority of etcd".to_owned())
    }
}

/// What the keys of objects are derived from: the private key in its one form. The same key may have been written as PKCS #1 or
/// as PKCS #8.
fn secret(key_pem: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let key = PrivateKey::from_pem(key_pem).map_err(|error| error.to_string())?;
    let text = key.to_pem().map_err(|error| error.to_string())?;
    Ok(Zeroizing::new(text.expose().as_bytes().to_vec()))
}

fn key(secret: &[u8], salt: &[u8]) -> Result<LessSafeKey, String> {
    struct Length;
    impl KeyType for Length {
        fn len(&self) -> usize {
            KEY
        }
    }
    let refused = |_| "no key can be derived".to_owned();
    let mut key = Zeroizing::new([0; KEY]);
    let derived: Prk = Salt::new(HKDF_SHA256, salt).extract(secret);
    let expanded = derived.expand(&[INFO], Length).map_err(refused)?;
    expanded.fill(&mut *key).map_err(refused)?;
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).map_err(refused)?))
}

/// Each key seals one object, so that the nonce never meets the same key again.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use slipway_bootstrap::configuration::EncryptionAlgorithm;

    use super::*;

    fn key_pem() -> String {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        key.to_pem().unwrap().expose().to_owned()
    }

    fn seal() -> Seal {
        Seal::of_authority(&key_pem()).unwrap()
    }

    #[test]
    fn a_new_authority_opens_what_a_former_one_has_sealed_and_seals_for_itself() {
        let (old, new) = (key_pem(), key_pem());
        let before = Seal::of_authority(&old).unwrap();
        let sealed = before.seal("demo/etcd/a/0", b"data").unwrap();
        let after = Seal::of_authority(&new).unwrap().opening(&old).unwrap();
        assert_eq!(&**after.open("demo/etcd/a/0", &sealed).unwrap(), b"data");
        assert!(after.open("demo/etcd/a/1", &sealed).is_err(), "moved");
        let later = after.seal("demo/etcd/b/0", b"data").unwrap();
        assert!(before.open("demo/etcd/b/0", &later).is_err(), "the former authority opens nothing new");
        assert!(Seal::of_authority(&new).unwrap().open("demo/etcd/b/0", &later).is_ok());
    }

    #[test]
    fn only_what_was_sealed_here_and_for_this_place_opens() {
        let one = seal();
        let sealed = one.seal("demo/etcd/a/0", b"data").unwrap();
        assert_eq!(&**one.open("demo/etcd/a/0", &sealed).unwrap(), b"data");
        assert_ne!(sealed, one.seal("demo/etcd/a/0", b"data").unwrap(), "each object has a key of its own");
        assert!(one.open("demo/etcd/a/1", &sealed).is_err(), "moved");
        assert!(seal().open("demo/etcd/a/0", &sealed).is_err(), "another authority");
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(one.open("demo/etcd/a/0", &changed).is_err(), "damaged");
        assert!(one.open("demo/etcd/a/0", &sealed[..sealed.len() - 1]).is_err(), "cut off");
        assert!(one.open("demo/etcd/a/0", b"{}").is_err());
    }
}
