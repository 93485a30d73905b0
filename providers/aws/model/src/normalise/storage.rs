//! Volumes, key pairs, objects.

use aws_lc_rs::digest;
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

/// Reads show the checksum alone, so it stands for the content.
pub(super) fn object(attributes: &mut Attributes) {
    if let Some(content) = form::text(attributes, "content") {
        let sum = digest::digest(&digest::SHA256, content.as_bytes());
        let sum = base64(sum.as_ref());
        attributes.insert("checksum_sha256".to_owned(), Value::String(sum));
    }
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let digit = ALPHABET.get((group >> (18 - 6 * position) & 63) as usize);
            let digit = digit.filter(|_| position <= chunk.len());
            text.push(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
