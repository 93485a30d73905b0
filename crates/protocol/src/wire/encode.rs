//! A value's bytes. Maps are written in the order of their keys, so a value has one form.

use std::collections::BTreeMap;

use prost::Message;
use prost::bytes::BufMut;
use prost::encoding::{self, WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use slipway_resource::{Reference, Secret, TemplatePart, Value};

use crate::generated as proto;

const LIST: u32 = 5;
const MAP: u32 = 6;
const UNKNOWN: u32 = 7;
const REFERENCE: u32 = 8;
const TEMPLATE: u32 = 9;
const SECRET: u32 = 10;

pub(super) fn value(value: &Value, with_texts: bool, buffer: &mut impl BufMut) {
    match value {
        Value::Null => {}
        Value::Bool(value) => encoding::bool::encode(1, value, buffer),
        Value::Integer(number) => encoding::sint64::encode(2, number, buffer),
        Value::Float(number) => encoding::double::encode(3, number, buffer),
        Value::String(text) => encoding::string::encode(4, text, buffer),
        Value::List(items) => {
            header(LIST, list_len(items, with_texts), buffer);
            for item in items {
                nested(1, item, with_texts, buffer);
            }
        }
        Value::Map(entries) => {
            header(MAP, map_len(entries, with_texts), buffer);
            for (key, item) in entries {
                header(1, entry_len(key, item, with_texts), buffer);
                encoding::string::encode(1, key, buffer);
                nested(2, item, with_texts, buffer);
            }
        }
        Value::Unknown => header(UNKNOWN, 0, buffer),
        Value::Reference(reference) => {
            encoding::message::encode(REFERENCE, &reference_message(reference), buffer);
        }
        Value::Template(parts) => encoding::message::encode(TEMPLATE, &template_message(parts), buffer),
        Value::Secret(secret) => {
            encoding::message::encode(SECRET, &secret_message(secret, with_texts), buffer);
        }
    }
}

pub(super) fn value_len(value: &Value, with_texts: bool) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(value) => encoding::bool::encoded_len(1, value),
        Value::Integer(number) => encoding::sint64::encoded_len(2, number),
        Value::Float(number) => encoding::double::encoded_len(3, number),
        Value::String(text) => encoding::string::encoded_len(4, text),
        Value::List(items) => delimited_len(LIST, list_len(items, with_texts)),
        Value::Map(entries) => delimited_len(MAP, map_len(entries, with_texts)),
        Value::Unknown => delimited_len(UNKNOWN, 0),
        Value::Reference(reference) => delimited_len(REFERENCE, reference_message(reference).encoded_len()),
        Value::Template(parts) => delimited_len(TEMPLATE, template_message(parts).encoded_len()),
        Value::Secret(secret) => delimited_len(SECRET, secret_message(secret, with_texts).encoded_len()),
    }
}

fn header(tag: u32, length: usize, buffer: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buffer);
    encode_varint(length as u64, buffer);
}

fn nested(tag: u32, item: &Value, with_texts: bool, buffer: &mut impl BufMut) {
    header(tag, value_len(item, with_texts), buffer);
    value(item, with_texts, buffer);
}

fn delimited_len(tag: u32, length: usize) -> usize {
    key_len(tag) + encoded_len_varint(length as u64) + length
}

fn list_len(items: &[Value], with_texts: bool) -> usize {
    items.iter().map(|item| delimited_len(1, value_len(item, with_texts))).sum()
}

fn map_len(entries: &BTreeMap<String, Value>, with_texts: bool) -> usize {
    entries.iter().map(|(key, item)| delimited_len(1, entry_len(key, item, with_texts))).sum()
}

fn entry_len(key: &String, item: &Value, with_texts: bool) -> usize {
    encoding::string::encoded_len(1, key) + delimited_len(2, value_len(item, with_texts))
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
