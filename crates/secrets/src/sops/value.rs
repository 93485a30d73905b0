//! One encrypted value: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.

use slipway_resource::SecretText;

use super::{gcm, malformed};
use crate::encoding;
use crate::error::Result;

/// A value as the MAC takes it: texts as they are, numbers in decimal, `True` and `False`.
pub(super) struct Scalar(SecretText);

impl Scalar {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(SecretText::new(text))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.expose()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.expose().as_bytes()
    }

    pub(super) fn text(&self) -> SecretText {
        self.0.clone()
    }
}

/// Decrypts a value at a place; nothing when it is not encrypted.
pub(super) fn decrypt(text: &str, place: &str, key: &[u8]) -> Result<Option<Scalar>> {
    let Some(inner) = text.strip_prefix("ENC[AES256_GCM,").and_then(|rest| rest.strip_suffix(']')) else {
        return Ok(None);
    };
    let field = |name: &str| {
        inner.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix(':')).map(str::to_owned)
    };
    let bytes = |name: &str| field(name).and_then(|text| encoding::decode(&text));
    let broken = || malformed(&format!("the value at `{place}` does not have the form of an encrypted one"));
    let (data, nonce, tag) = (
        bytes("data").ok_or_else(broken)?,
        bytes("iv").ok_or_else(broken)?,
        bytes("tag").ok_or_else(broken)?,
    );
    let plain = gcm::open(key, &nonce, place.as_bytes(), &data, &tag).ok_or_else(|| {
        malformed(&format!("the value at `{place}` was changed or moved, or is encrypted with another key"))
    })?;
    let plain =
        std::str::from_utf8(&plain).map_err(|_| malformed(&format!("the value at `{place}` is not text")))?;
    Ok(Some(match (field("type").as_deref(), plain) {
        (Some("bool"), "true") => Scalar::new("True"),
        (Some("bool"), "false") => Scalar::new("False"),
        _ => Scalar::new(plain),
    }))
}
