//! Secrets from the environment and from files.

use std::path::PathBuf;

use slipway_engine::{SecretError, SecretSource, fingerprint};
use slipway_resource::{ClusterUid, Secret, SecretText, Value};

/// Reads `env:NAME` and `file:path`; a relative path begins at the folder of the spec.
#[derive(Debug, Default)]
pub(crate) struct UserSecrets {
    /// The folder of the spec.
    pub folder: PathBuf,
}

impl SecretSource for UserSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        let fail = |message: String| SecretError { source_name: source.to_owned(), message };
        match source.split_once(':') {
            Some(("env", name)) => std::env::var(name)
                .map(SecretText::new)
                .map_err(|_| fail(format!("the environment variable {name} is not set"))),
            Some(("file", path)) => std::fs::read_to_string(self.folder.join(path))
                .map(|text| SecretText::new(text.trim_end_matches('\n')))
                .map_err(|error| fail(error.to_string())),
            _ => Err(fail("a secret comes from `env:NAME` or `file:path`".to_owned())),
        }
    }
}

/// Gives the secrets in wanted attributes the fingerprints by which a plan compares them. One that cannot be read
/// here is taken to be as it was when it comes from the same place as then; its error is added to `unread`.
pub(crate) fn compare_by_fingerprint(
    wanted: &mut Value,
    applied: Option<&Value>,
    uid: &ClusterUid,
    source: &dyn SecretSource,
    unread: &mut Vec<SecretError>,
) {
    match wanted {
        Value::Secret(secret) => match source.text(&secret.source) {
            Ok(text) => secret.fingerprint = Some(fingerprint(uid, &text)),
            Err(error) => {
                secret.fingerprint = as_applied(secret, applied);
                unread.push(error);
            }
        },
        Value::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let applied = applied.and_then(Value::as_list).and_then(|items| items.get(index));
                compare_by_fingerprint(item, applied, uid, source, unread);
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                let applied = applied.and_then(|applied| applied.get(key));
                compare_by_fingerprint(value, applied, uid, source, unread);
            }
        }
        _ => {}
    }
}

fn as_applied(secret: &Secret, applied: Option<&Value>) -> Option<String> {
    match applied {
        Some(Value::Secret(before)) if before.source == secret.source => before.fingerprint.clone(),
        _ => None,
    }
}
