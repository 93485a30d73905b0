//! The content of a file: plain, in base64, or a secret that is only compared.

use aws_lc_rs::digest::SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use slipway_resource::{Path, ProviderError, Secret, Value, hexadecimal};

use super::super::Place;
use super::form::recall;
use crate::attributes::Attributes;
use crate::disk::Status;
use crate::error::invalid;

/// A desired content.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    secret: Option<Secret>,
}

/// The record of the contents of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The written content.
    pub(super) now: Option<Version>,
    /// The one that is being written.
    pub(super) next: Option<Version>,
}

/// One content, in a form that may be stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Version {
    /// SHA-256 of the bytes in hexadecimal digits. It stays on the node, beside the file itself.
    pub(super) digest: String,
    /// Its source and fingerprint, when it is a secret.
    pub(super) secret: Option<Secret>,
}

impl Content {
    /// The desired content.
    pub(super) fn of(wanted: Attributes<'_>) -> Result<Self, ProviderError> {
        let secret = |name: &str| match wanted.0.get(name) {
            Some(Value::Secret(secret)) => Some(Secret { text: None, ..Secret::clone(secret) }),
            _ => None,
        };
        if let Some(text) = wanted.optional_text("content")? {
            return Ok(Self { bytes: text.as_bytes().to_vec(), secret: secret("content") });
        }
        let text = wanted.text("content_base64")?;
        Ok(Self { bytes: decoded(text)?, secret: secret("content_base64") })
    }

    pub(super) fn version(&self) -> Version {
        Version { digest: digest(&self.bytes), secret: self.secret.clone() }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, ProviderError> {
    BASE64.decode(text).map_err(|_| invalid("content_base64 is not base64"))
}

/// SHA-256 in hexadecimal digits.
pub(in crate::kind) fn digest(bytes: &[u8]) -> String {
    hexadecimal(aws_lc_rs::digest::digest(&SHA256, bytes).as_ref())
}

/// A planned content that is no secret and known.
pub(super) fn planned_bytes(planned: &Value) -> Result<Option<Vec<u8>>, ProviderError> {
    match (planned.get("content"), planned.get("content_base64")) {
        (Some(Value::String(text)), _) => Ok(Some(text.as_bytes().to_vec())),
        (_, Some(Value::String(text))) => decoded(text).map(Some),
        _ => Ok(None),
    }
}

/// The digest of a planned content that is no secret and known.
pub(super) fn planned_digest(planned: &Value) -> Result<Option<String>, ProviderError> {
    Ok(planned_bytes(planned)?.map(|bytes| digest(&bytes)))
}

/// A replacement for the digest of an unknown content: the fingerprint of a secret.
pub(super) fn digest_of_secret(planned: &Value) -> Value {
    let secret = ["content", "content_base64"].iter().find_map(|name| match planned.get(name) {
        Some(Value::Secret(secret)) => secret.fingerprint.clone(),
        _ => None,
    });
    secret.map_or(Value::Unknown, Value::from)
}

/// The source of a file's content that Slipway did not write.
fn found_in(path: &str) -> String {
    format!("file:{path}")
}

/// Whether a content is a secret of which only the place is known, now and when it was adopted. It is left
/// unchanged.
pub(super) fn is_left(observed: &Value, last_applied: Option<&Value>) -> bool {
    let of = |attributes: &Value| match attributes.get("content") {
        Some(Value::Secret(secret)) => Some(secret.source.clone()),
        _ => None,
    };
    let path = observed.get("path").and_then(Value::as_str).unwrap_or_default();
    let place = found_in(path);
    of(observed).as_ref() == Some(&place) && last_applied.and_then(of).as_ref() == Some(&place)
}

/// Whether the content is public, whatever the file's mode.
fn is_public(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let is_pem = ["-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----"]
        .iter()
        .any(|begin| text.trim_start().starts_with(begin));
    is_pem && !text.contains("PRIVATE KEY-----")
}

/// Puts the visible form of a content into the attributes of a file.
pub(super) fn show(bytes: &[u8], status: &Status, place: &Place, into: &mut Value) {
    let memory = recall::<Memory>(place.memory()).unwrap_or_default();
    let actual = digest(bytes);
    let versions = [&memory.now, &memory.next];
    let known = versions.into_iter().flatten().find(|version| version.digest == actual);
    let in_base64 = place.wanted().0.get("content_base64").is_some();
    let name = if in_base64 { "content_base64" } else { "content" };
    let wants_secret = versions.into_iter().flatten().any(|version| version.secret.is_some());
    // If Slipway did not write the file, a content that only its owner may read is a secret.
    let asks_secret = matches!(place.wanted().0.get(name), Some(Value::Secret(_)));
    let is_secret = wants_secret
        || asks_secret
        || (place.entry.is_none() && status.mode() & 0o077 == 0 && !is_public(bytes));
    let (content, shown) = match (known.and_then(|version| version.secret.clone()), is_secret) {
        (Some(secret), _) => {
            let shown = secret.fingerprint.clone().map_or(Value::Null, Value::from);
            (secret.into(), shown)
        }
        (None, true) => (Value::from(Secret::new(found_in(place.identity.as_str()))), Value::Null),
        (None, false) if in_base64 => (BASE64.encode(bytes).into(), actual.into()),
        (None, false) => (String::from_utf8_lossy(bytes).into_owned().into(), actual.into()),
    };
    into.set(&Path::key(name), content);
    into.set(&Path::key("sha256"), shown);
}
