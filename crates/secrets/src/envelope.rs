//! The form of an envelope: versioned JSON around ciphertext.
//!
//! A data key encrypts nothing itself: for each object a key is derived from it with a random salt of 256 bits
//! (HKDF-SHA-256), which encrypts that one object with AES-256-GCM under a random nonce. So one data key may serve many
//! objects, and no key meets a nonce twice.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::cipher::{self, NONCE};
use crate::error::{Error, Result};
use crate::key::{DataKey, KeyName, WrappedKey};
use crate::random;

/// Version of the form; a reader refuses a greater one.
pub const FORMAT: u32 = 1;

const KIND: &str = "slipway-envelope";
/// How every envelope begins.
const BEGIN: &[u8] = b"{\"kind\":\"slipway-envelope\",";
const ALGORITHM: &str = "AES-256-GCM";
const INFO: &[u8] = b"slipway-envelope/1/AES-256-GCM";

/// The context that an envelope is bound to: moved elsewhere, it does not open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The key of the object in the store, or a replacement for it.
    pub path: String,
    /// The cluster's name. A key service gets it as the purpose of the key.
    pub cluster: String,
    /// The cluster's unique id, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The version of the object, counted from 1; 0 where the path has it.
    pub generation: u64,
}

/// The reader's expectations of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// Its path.
    pub path: &'a str,
    /// The cluster's unique id, where that is known.
    pub uid: Option<&'a str>,
    /// Its generation, where the state names it.
    pub generation: Option<u64>,
}

impl<'a> Expected<'a> {
    /// Expects an envelope at a path.
    #[must_use]
    pub fn at(path: &'a str) -> Self {
        Self { path, uid: None, generation: None }
    }
}

/// An envelope as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    kind: String,
    /// Version of this form.
    pub format: u32,
    /// The method; there is one.
    pub algorithm: String,
    /// The context that it is bound to.
    pub context: Context,
    /// The data key, wrapped for each recipient.
    pub keys: Vec<WrappedKey>,
    #[serde(with = "crate::encoding")]
    salt: Vec<u8>,
    #[serde(with = "crate::encoding")]
    nonce: Vec<u8>,
    #[serde(with = "crate::encoding")]
    ciphertext: Vec<u8>,
}

impl Envelope {
    /// Whether bytes look like an envelope.
    #[must_use]
    pub fn is(bytes: &[u8]) -> bool {
        bytes.starts_with(BEGIN)
    }

    /// Seals bytes under a data key.
    pub(crate) fn seal(context: Context, key: &DataKey, keys: Vec<WrappedKey>, plain: &[u8]) -> Result<Self> {
        let salt = random::bytes::<32>()?;
        let nonce = random::bytes::<NONCE>()?;
        let object_key = cipher::derive(key.expose(), &salt, INFO)?;
        let ciphertext = cipher::aes_seal(&object_key, nonce, &associated(&context), plain)?;
        Ok(Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            algorithm: ALGORITHM.to_owned(),
            context,
            keys,
            salt: salt.to_vec(),
            nonce: nonce.to_vec(),
            ciphertext,
        })
    }

    /// Opens it with its data key.
    pub(crate) fn open(self, key: &DataKey) -> Result<Zeroizing<Vec<u8>>> {
        let object_key = cipher::derive(key.expose(), &self.salt, INFO)?;
        let associated = associated(&self.context);
        cipher::aes_open(&*object_key, &self.nonce, &associated, self.ciphertext)
            .ok_or(Error::Damaged { path: self.context.path })
    }

    /// Parses an envelope at a path, without decrypting it.
    ///
    /// # Errors
    /// When it is not an envelope, has a newer format, or was encrypted for another path.
    pub fn read(expected: &Expected<'_>, bytes: &[u8]) -> Result<Self> {
        let malformed = |reason: String| Error::Malformed { what: "an envelope", reason };
        let path = expected.path;
        let head: Head =
            serde_json::from_slice(bytes).map_err(|error| malformed(format!("{path}: {error}")))?;
        if head.kind != KIND {
            return Err(malformed(format!("{path}: it is of kind `{}`", head.kind)));
        }
        if head.format > FORMAT {
            let (path, found) = (path.to_owned(), head.format);
            return Err(Error::NewerFormat { path, found, supported: FORMAT });
        }
        let envelope: Self =
            serde_json::from_slice(bytes).map_err(|error| malformed(format!("{path}: {error}")))?;
        if envelope.algorithm != ALGORITHM {
            return Err(malformed(format!("{path}: the algorithm `{}` is not known", envelope.algorithm)));
        }
        envelope.check(expected)?;
        Ok(envelope)
    }

    fn check(&self, expected: &Expected<'_>) -> Result<()> {
        let Context { path, uid, generation, .. } = &self.context;
        let misplaced = |found: String| Error::Misplaced { path: expected.path.to_owned(), found };
        if path != expected.path {
            return Err(misplaced(path.clone()));
        }
        if let Some(wanted) = expected.uid
            && uid.as_deref() != Some(wanted)
        {
            return Err(misplaced(format!("the cluster with the id {}", uid.as_deref().unwrap_or("?"))));
        }
        match expected.generation {
            Some(wanted) if *generation < wanted => {
                Err(Error::RolledBack { path: path.clone(), found: *generation, expected: wanted })
            }
            Some(wanted) if *generation > wanted => Err(misplaced(format!("generation {generation}"))),
            _ => Ok(()),
        }
    }

    /// The recipients that it is encrypted for.
    #[must_use]
    pub fn names(&self) -> Vec<KeyName> {
        self.keys.iter().map(|key| key.name.clone()).collect()
    }

    /// The bytes to store.
    ///
    /// # Errors
    /// Never, in fact.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self)
            .map_err(|error| Error::Malformed { what: "an envelope", reason: error.to_string() })
    }
}

/// The part that every version has.
#[derive(Deserialize)]
struct Head {
    kind: String,
    format: u32,
}

/// The associated data: form, algorithm and context, each text with its length before it.
fn associated(context: &Context) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(FORMAT.to_be_bytes());
    let uid = context.uid.as_deref();
    for text in [KIND, ALGORITHM, &context.path, &context.cluster, uid.unwrap_or_default()] {
        bytes.extend((text.len() as u64).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.push(u8::from(uid.is_some()));
    bytes.extend(context.generation.to_be_bytes());
    bytes
}
