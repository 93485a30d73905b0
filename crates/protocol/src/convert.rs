//! The engine's types to the contract's messages and back, without loss.
//!
//! Into a message never fails. Out of one fails with [`Malformed`] when the other side did not keep the contract.

mod act;
mod actual;
mod adoption;
mod balancing;
mod desire;
mod error;
mod instances;
mod lifecycle;
mod nodes;
mod planning;
mod pricing;
mod routing;
mod schema;

use slipway_resource::{Address, Digest, Identity, Path, Value};

use crate::wire::WireValue;

pub use act::Resumed;
pub(crate) use act::passing;
pub use balancing::{DesiredParts, balancer_key, desired_balancer};
pub(crate) use lifecycle::on_terms;
pub use lifecycle::terms;
pub(crate) use planning::planned_from_message;
pub use planning::planned_to_message;
pub use schema::{schema_from_pages, schema_to_message};

/// A message that does not keep the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message: {part} `{text}` is not valid")]
pub struct Malformed {
    part: &'static str,
    text: Box<str>,
}

impl Malformed {
    pub(crate) fn new(part: &'static str, text: impl Into<Box<str>>) -> Self {
        Self { part, text: text.into() }
    }

    fn missing(part: &'static str) -> Self {
        Self::new(part, "")
    }
}

fn address(text: &str) -> Result<Address, Malformed> {
    text.parse().map_err(|_| Malformed::new("address", text))
}

fn optional_address(text: &str) -> Result<Option<Address>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    address(text).map(Some)
}

fn addresses(texts: &[String]) -> Result<Vec<Address>, Malformed> {
    texts.iter().map(|text| address(text)).collect()
}

fn path(text: &str) -> Result<Path, Malformed> {
    text.parse().map_err(|_| Malformed::new("path", text))
}

fn paths(texts: &[String]) -> Result<Vec<Path>, Malformed> {
    texts.iter().map(|text| path(text)).collect()
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

pub(crate) fn digest(text: &str) -> Result<Digest, Malformed> {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    let hexadecimal = text.strip_prefix("sha256:").unwrap_or_default();
    let is_digest =
        hexadecimal.len() == 64 && hexadecimal.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
    match Digest::deserialize(deserializer) {
        Ok(digest) if is_digest => Ok(digest),
        _ => Err(Malformed::new("digest", text)),
    }
}

fn optional_identity(text: Option<String>) -> Option<Identity> {
    text.map(Identity::new)
}

/// An absent value is null.
fn value(message: Option<WireValue>) -> Result<Value, Malformed> {
    message.map_or(Ok(Value::Null), |message| message.value())
}

fn optional_value(message: Option<&WireValue>) -> Result<Option<Value>, Malformed> {
    message.map(WireValue::value).transpose()
}

fn json(bytes: &[u8]) -> Result<serde_json::Value, Malformed> {
    serde_json::from_slice(bytes).map_err(|error| Malformed::new("JSON", error.to_string()))
}

#[cfg(test)]
mod tests;
