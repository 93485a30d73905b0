//! Volumes, key pairs, objects.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::Value;

use super::{Attributes, form};

pub(super) fn volume(attributes: &mut Attributes) {
    form::small(attributes, &["type"]);
}

/// The comment at the end is not part of the key.
pub(super) fn key_pair(attributes: &mut Attributes) {
    form::texts(attributes, &["public_key"], |text| {
        Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    });
}

/// Reads show the checksum alone, so it represents the content.
pub(super) fn object(attributes: &mut Attributes) {
    if let Some(content) = form::text(attributes, "content") {
        let sum = digest::digest(&digest::SHA256, content.as_bytes());
        attributes.insert("checksum_sha256".to_owned(), Value::String(STANDARD.encode(sum)));
    }
}
