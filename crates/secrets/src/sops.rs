//! Files that SOPS has encrypted (YAML and JSON), read without its executable.
//!
//! Every value of such a file is encrypted by itself with AES-256-GCM, with its place in the document as associated data;
//! the key of the file is wrapped for each of its recipients, and a MAC is over all values in their order. Files that are
//! encrypted for age recipients are read here; those for other key services only are refused, with their names.

mod document;
mod gcm;
mod mac;
mod value;

use slipway_resource::SecretText;
use zeroize::Zeroizing;

use crate::age::{self, Identity};
use crate::error::{Error, Result};
use document::{Metadata, Tree};
use mac::Mac;

/// The syntax of an encrypted document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Syntax {
    /// The syntax of a file, by the end of its name; nothing for one that is not read here.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// One value of an encrypted document, by its path: keys and numbers of items joined by dots, as `etcd.keys.0`. The whole
/// document is checked against its MAC first.
///
/// # Errors
/// When it is no such document, none of the identities opens it, it is not as it was written, or the path names no text.
pub fn read(text: &str, syntax: Syntax, path: &str, identities: &[Identity]) -> Result<SecretText> {
    let (mut tree, metadata) = document::parse(text, syntax)?;
    let key = data_key(&metadata, identities)?;
    let mut mac = Mac::new(metadata.mac_only_encrypted);
    decrypt(&mut tree, &mut Vec::new(), &key, &mut mac)?;
    let sealed = value::decrypt(&metadata.mac, &metadata.lastmodified, &key)?
        .ok_or_else(|| malformed("it has no MAC"))?;
    if !mac.is(sealed.bytes()) {
        return Err(malformed("its MAC is not over these values: something in it was changed without SOPS"));
    }
    let found = tree.find(path).ok_or_else(|| malformed(&format!("it has nothing at `{path}`")))?;
    found.text().ok_or_else(|| malformed(&format!("what it has at `{path}` is neither a text nor a number")))
}

/// Decrypts all values, and takes them into the MAC, in the order of the document.
fn decrypt(tree: &mut Tree, path: &mut Vec<String>, key: &[u8], mac: &mut Mac) -> Result<()> {
    match tree {
        Tree::Null => Ok(()),
        Tree::Map(entries) => entries.iter_mut().try_for_each(|(name, value)| {
            path.push(name.clone());
            let decrypted = decrypt(value, path, key, mac);
            path.pop();
            decrypted
        }),
        // The numbers of items are no part of the place.
        Tree::List(items) => items.iter_mut().try_for_each(|item| decrypt(item, path, key, mac)),
        Tree::Scalar(scalar) => {
            let place = format!("{}:", path.join(":"));
            match value::decrypt(scalar.as_str(), &place, key)? {
                Some(opened) => {
                    mac.take(opened.bytes(), true);
                    *scalar = opened;
                }
                None => mac.take(scalar.bytes(), false),
            }
            Ok(())
        }
    }
}

fn data_key(metadata: &Metadata, identities: &[Identity]) -> Result<Zeroizing<Vec<u8>>> {
    let identities: Vec<&Identity> = identities.iter().collect();
    for recipient in &metadata.age {
        if let Some(key) = age::decrypt(&identities, &age::dearmor(&recipient.enc)?)? {
            return Ok(key);
        }
    }
    let names: Vec<&str> = metadata.age.iter().map(|recipient| recipient.recipient.as_str()).collect();
    let reason = if names.is_empty() {
        "it is not encrypted for any age recipient, and other key services are not asked".to_owned()
    } else {
        format!(
            "it is encrypted for {}, and none of these identities is at hand; name a file with one in \
             SLIPWAY_AGE_IDENTITY_FILE or SOPS_AGE_KEY_FILE",
            names.join(", ")
        )
    };
    Err(malformed(&reason))
}

fn malformed(reason: &str) -> Error {
    Error::Malformed { what: "a SOPS file that can be read here", reason: reason.to_owned() }
}
