//! A value's bytes, in one pass. Maps are written in the order of their keys, so a value has one form.

use prost::encoding::{self, WireType, encode_key, encode_varint, encoded_len_varint};
use slipway_resource::{Reference, Secret, TemplatePart, Value};

use super::field;
use crate::generated as proto;

/// The usual maximum size of a value.
const USUAL: usize = 512;

/// The bytes of a value; with the texts of its secrets only on request.
pub(super) fn value(value: &Value, with_texts: bool) -> Vec<u8> {
    let mut buffer = match value {
        Value::Null => Vec::new(),
        Value::List(_) | Value::Map(_) => Vec::with_capacity(USUAL),
        _ => Vec::with_capacity(16),
    };
    append(value, with_texts, &mut buffer);
    buffer.shrink_to_fit();
    buffer
}

fn append(value: &Value, with_texts: bool, buffer: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(value) => encoding::bool::encode(field::BOOL, value, buffer),
        Value::Integer(number) => encoding::sint64::encode(field::INTEGER, number, buffer),
        Value::Float(number) => encoding::double::encode(field::FLOAT, number, buffer),
        Value::String(text) => string(field::STRING, text, buffer),
        Value::List(items) => message(field::LIST, buffer, |buffer| {
            for item in items {
                message(field::ITEMS, buffer, |buffer| append(item, with_texts, buffer));
            }
        }),
        Value::Map(entries) => message(field::MAP, buffer, |buffer| {
            for (key, item) in entries {
                message(field::ENTRIES, buffer, |buffer| {
                    if !key.is_empty() {
                        string(field::KEY, key, buffer);
                    }
                    message(field::VALUE, buffer, |buffer| append(item, with_texts, buffer));
                });
            }
        }),
        Value::Unknown => header(field::UNKNOWN, 0, buffer),
        Value::Reference(reference) => {
            encoding::message::encode(field::REFERENCE, &reference_message(reference), buffer);
        }
        Value::Template(parts) => {
            encoding::message::encode(field::TEMPLATE, &template_message(parts), buffer);
        }
        Value::Secret(secret) => {
            encoding::message::encode(field::SECRET, &secret_message(secret, with_texts), buffer);
        }
    }
}

/// The bytes before a content of known length.
pub(super) fn header(tag: u32, length: usize, buffer: &mut Vec<u8>) {
    if let (Ok(tag @ 0..16), Ok(length @ 0..0x80)) = (u8::try_from(tag), u8::try_from(length)) {
        // By far the most: a byte for each.
        buffer.extend_from_slice(&[(tag << 3) | WireType::LengthDelimited as u8, length]);
        return;
    }
    encode_key(tag, WireType::LengthDelimited, buffer);
    encode_varint(length as u64, buffer);
}

fn string(tag: u32, text: &str, buffer: &mut Vec<u8>) {
    header(tag, text.len(), buffer);
    buffer.extend_from_slice(text.as_bytes());
}

/// Writes a message whose length is known only afterwards: there is room for one byte of it, which suffices for
/// most; for more the content moves up. That is cheaper than to compute the length of each level beforehand.
fn message(tag: u32, buffer: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    header(tag, 0, buffer);
    let start = buffer.len();
    content(buffer);
    let end = buffer.len();
    let mut rest = (end - start) as u64;
    let more = encoded_len_varint(rest) - 1;
    if more > 0 {
        buffer.resize(end + more, 0);
        buffer.copy_within(start..end, start + more);
    }
    for place in buffer.iter_mut().skip(start - 1).take(more + 1) {
        let is_last = rest < 0x80;
        *place = (rest & 0x7f) as u8 | if is_last { 0 } else { 0x80 };
        rest >>= 7;
    }
}

fn reference_message(reference: &Reference) -> proto::Reference {
    proto::Reference { address: reference.address.to_string(), path: reference.path.to_string() }
}

fn template_message(parts: &[TemplatePart]) -> proto::Template {
    let parts = parts.iter().map(|part| proto::TemplatePart {
        part: Some(match part {
            TemplatePart::Text(text) => proto::template_part::Part::Text(text.clone()),
            TemplatePart::Reference(reference) => {
                proto::template_part::Part::Reference(reference_message(reference))
            }
        }),
    });
    proto::Template { parts: parts.collect() }
}

fn secret_message(secret: &Secret, with_texts: bool) -> proto::Secret {
    proto::Secret {
        source: secret.source.clone(),
        fingerprint: secret.fingerprint.clone(),
        text: secret.text.as_ref().filter(|_| with_texts).map(|text| text.expose().to_owned()),
    }
}
