//! Bytes in JSON: base64 (RFC 4648, section 4) with padding.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Deserializer, Serializer};

/// Bytes as base64 with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes from base64 with padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Bytes as base64 without padding, as age writes them.
pub(crate) fn encode_bare(bytes: &[u8]) -> String {
    STANDARD_NO_PAD.encode(bytes)
}

/// Bytes from base64 without padding.
pub(crate) fn decode_bare(text: &str) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text).ok()
}

/// For `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes))
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    decode(&text).ok_or_else(|| serde::de::Error::custom("it is not base64"))
}
