//! Secret texts on their way from the user to the one call that needs them.

use aws_lc_rs::hmac;
use slipway_resource::{ClusterUid, Secret, SecretText, Value};

/// A secret that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the secret {source_name} cannot be read: {message}")]
pub struct SecretError {
    /// Where it should come from, as `env:NAME`.
    pub source_name: String,
    /// Why not.
    pub message: String,
}

/// Where secret texts come from.
pub trait SecretSource: Send + Sync {
    /// The text of a secret, by its source as `env:NAME` or `file:path`.
    ///
    /// # Errors
    /// When there is none.
    fn text(&self, source: &str) -> Result<SecretText, SecretError>;
}

/// A source that has no secrets.
#[derive(Debug, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        Err(SecretError {
            source_name: source.to_owned(),
            message: "secrets are not available here".to_owned(),
        })
    }
}

/// HMAC-SHA-256 of a text under the cluster's unique id, hexadecimal: tells whether a secret changed, and
/// nothing to who does not know it.
#[must_use]
pub fn fingerprint(uid: &ClusterUid, text: &SecretText) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, uid.as_str().as_bytes());
    hmac::sign(&key, text.expose().as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Gives every secret in a value its text, and its fingerprint where the cluster has its id.
pub(crate) fn fill(
    value: &mut Value,
    source: &dyn SecretSource,
    uid: Option<&ClusterUid>,
) -> Result<(), SecretError> {
    match value {
        Value::Secret(secret) => fill_one(secret, source, uid),
        Value::List(items) => items.iter_mut().try_for_each(|item| fill(item, source, uid)),
        Value::Map(entries) => entries.values_mut().try_for_each(|value| fill(value, source, uid)),
        _ => Ok(()),
    }
}

fn fill_one(
    secret: &mut Secret,
    source: &dyn SecretSource,
    uid: Option<&ClusterUid>,
) -> Result<(), SecretError> {
    if secret.text.is_none() {
        secret.text = Some(source.text(&secret.source)?);
    }
    if let (Some(uid), Some(text)) = (uid, &secret.text) {
        secret.fingerprint = Some(fingerprint(uid, text));
    }
    Ok(())
}

/// Takes the texts away again, keeping the fingerprints: what may be stored.
pub(crate) fn strip(value: &mut Value) {
    match value {
        Value::Secret(secret) => secret.text = None,
        Value::List(items) => items.iter_mut().for_each(strip),
        Value::Map(entries) => entries.values_mut().for_each(strip),
        _ => {}
    }
}
