//! The attributes of one action, by name and type.

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_resource::{ProviderError, Value};

use crate::error::invalid;

/// Attributes of one object, all known.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a>(pub(crate) &'a Value);

impl<'a> Attributes<'a> {
    /// A text that must be there.
    pub(crate) fn text(self, name: &str) -> Result<&'a str, ProviderError> {
        self.optional_text(name)?.ok_or_else(|| invalid(format!("{name} is required")))
    }

    /// A text that may be there; that of a secret, too.
    pub(crate) fn optional_text(self, name: &str) -> Result<Option<&'a str>, ProviderError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Secret(secret)) => match &secret.text {
                Some(text) => Ok(Some(text.expose())),
                None => Err(invalid(format!("{name}: the text of the secret did not come with it"))),
            },
            Some(_) => Err(invalid(format!("{name} is not text"))),
        }
    }

    /// Whether something is set and true.
    pub(crate) fn flag(self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    pub(crate) fn optional_flag(self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// The texts of a list; none when it is absent.
    pub(crate) fn texts(self, name: &str) -> Vec<String> {
        let items = self.0.get(name).and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The texts of a map; none when it is absent. A secret's text counts.
    pub(crate) fn map(self, name: &str) -> Result<BTreeMap<String, String>, ProviderError> {
        let Some(Value::Map(entries)) = self.0.get(name) else { return Ok(BTreeMap::new()) };
        let inner = self.0.get(name).map(Attributes);
        let mut texts = BTreeMap::new();
        for key in entries.keys() {
            if let Some(text) = inner.map(|inner| inner.optional_text(key)).transpose()?.flatten() {
                texts.insert(key.clone(), text.to_owned());
            }
        }
        Ok(texts)
    }

    pub(crate) fn integer(self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_integer)
    }

    /// A number of seconds.
    pub(crate) fn seconds(self, name: &str, otherwise: u64) -> Duration {
        let seconds = self.integer(name).and_then(|seconds| u64::try_from(seconds).ok());
        Duration::from_secs(seconds.unwrap_or(otherwise))
    }
}

/// Attributes without the texts of secrets, as they may be stored.
pub(crate) fn without_texts(value: &Value) -> Value {
    match value {
        Value::Secret(secret) => {
            let mut secret = secret.clone();
            secret.text = None;
            Value::Secret(secret)
        }
        Value::List(items) => Value::List(items.iter().map(without_texts).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), without_texts(value))).collect())
        }
        other => other.clone(),
    }
}

/// Whether a secret in there has no text, so that it cannot be written.
pub(crate) fn lacks_texts(value: &Value) -> bool {
    match value {
        Value::Secret(secret) => secret.text.is_none(),
        Value::List(items) => items.iter().any(lacks_texts),
        Value::Map(entries) => entries.values().any(lacks_texts),
        _ => false,
    }
}
