use jiff::Timestamp;
use slipway_resource::{Path, Value};

use super::SYSTEM;

/// A bootstrap token as an object of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenObject<'a> {
    /// The part before the dot, which is no secret.
    pub id: &'a str,
    /// The part behind it: a secret, or a reference to one.
    pub secret: Value,
    /// Its purpose, in words; may be empty.
    pub description: &'a str,
    /// When it ends; never without.
    pub expiration: Option<Timestamp>,
    /// Its usages: `signing`, `authentication`.
    pub usages: &'a [String],
    /// The groups of those who use it.
    pub groups: &'a [String],
}

/// The Secret of a bootstrap token. Its values are in `stringData`, so that the secret part needs no
/// encoding.
#[must_use]
pub fn bootstrap_token(token: &TokenObject<'_>) -> Value {
    let mut data = vec![
        ("token-id".to_owned(), Value::from(token.id)),
        ("token-secret".to_owned(), token.secret.clone()),
    ];
    if !token.description.is_empty() {
        data.push(("description".to_owned(), token.description.into()));
    }
    if let Some(expiration) = token.expiration {
        data.push(("expiration".to_owned(), expiration_text(expiration).into()));
    }
    data.extend(token.usages.iter().map(|usage| (format!("usage-bootstrap-{usage}"), "true".into())));
    if !token.groups.is_empty() {
        data.push(("auth-extra-groups".to_owned(), token.groups.join(",").into()));
    }
    let mut object = Value::from_json(&serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": format!("bootstrap-token-{}", token.id), "namespace": SYSTEM},
    }));
    object.set(&Path::key("stringData"), Value::map(data));
    object
}

/// RFC 3339 in UTC, whole seconds.
fn expiration_text(expiration: Timestamp) -> String {
    Timestamp::from_second(expiration.as_second()).unwrap_or(expiration).to_string()
}
