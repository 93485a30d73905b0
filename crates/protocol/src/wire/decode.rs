//! A value from its bytes, without a second tree in between.

use prost::encoding::{self, DecodeContext, WireType, decode_key, decode_varint};
use prost::{DecodeError, Message};
use slipway_resource::{Entries, Reference, Secret, SecretText, TemplatePart, Value};

use super::field;
use crate::convert::Malformed;
use crate::generated as proto;

/// How deep messages may be nested, as everywhere in this encoding.
const DEPTH: u32 = 100;

/// The value of some bytes.
pub(super) fn value(bytes: &[u8]) -> Result<Value, Malformed> {
    read(bytes, DEPTH)
}

fn read(mut bytes: &[u8], depth: u32) -> Result<Value, Malformed> {
    let mut value = Value::Null;
    while let Some((tag, wire_type)) = next(&mut bytes)? {
        value = match tag {
            field::BOOL => {
                let mut value = false;
                scalar(encoding::bool::merge, &mut value, wire_type, &mut bytes)?;
                Value::Bool(value)
            }
            field::INTEGER => {
                let mut number = 0;
                scalar(encoding::sint64::merge, &mut number, wire_type, &mut bytes)?;
                Value::Integer(number)
            }
            field::FLOAT => {
                let mut number = 0.0;
                scalar(encoding::double::merge, &mut number, wire_type, &mut bytes)?;
                Value::Float(number)
            }
            field::STRING => Value::String(text(content(wire_type, &mut bytes)?)?),
            field::LIST => Value::List(list(content(wire_type, &mut bytes)?, deeper(depth, 2)?)?),
            field::MAP => Value::Map(map(content(wire_type, &mut bytes)?, deeper(depth, 3)?)?),
            field::UNKNOWN => {
                content(wire_type, &mut bytes)?;
                Value::Unknown
            }
            field::REFERENCE => reference(&message(content(wire_type, &mut bytes)?)?)?.into(),
            field::TEMPLATE => Value::Template(template(message(content(wire_type, &mut bytes)?)?)?),
            field::SECRET => secret(message(content(wire_type, &mut bytes)?)?).into(),
            _ => {
                skip(tag, wire_type, &mut bytes)?;
                continue;
            }
        }
    }
    Ok(value)
}

fn list(mut bytes: &[u8], depth: u32) -> Result<Vec<Value>, Malformed> {
    let mut items = Vec::with_capacity(count(bytes, field::ITEMS)?);
    while let Some((tag, wire_type)) = next(&mut bytes)? {
        match tag {
            field::ITEMS => items.push(read(content(wire_type, &mut bytes)?, depth)?),
            _ => skip(tag, wire_type, &mut bytes)?,
        }
    }
    Ok(items)
}

fn map(mut bytes: &[u8], depth: u32) -> Result<Entries, Malformed> {
    let mut entries = Vec::with_capacity(count(bytes, field::ENTRIES)?);
    while let Some((tag, wire_type)) = next(&mut bytes)? {
        match tag {
            field::ENTRIES => entries.push(entry(content(wire_type, &mut bytes)?, depth)?),
            _ => skip(tag, wire_type, &mut bytes)?,
        }
    }
    // They are sorted already; then this is cheaper than one insertion for each.
    Ok(Entries::from_iter(entries))
}

fn entry(mut bytes: &[u8], depth: u32) -> Result<(String, Value), Malformed> {
    let (mut key, mut value) = (String::new(), Value::Null);
    while let Some((tag, wire_type)) = next(&mut bytes)? {
        match tag {
            field::KEY => key = text(content(wire_type, &mut bytes)?)?,
            field::VALUE => value = read(content(wire_type, &mut bytes)?, depth)?,
            _ => skip(tag, wire_type, &mut bytes)?,
        }
    }
    Ok((key, value))
}

/// How often a field occurs, so that room is made once.
fn count(mut bytes: &[u8], counted: u32) -> Result<usize, Malformed> {
    let mut count = 0;
    while let Some((tag, wire_type)) = next(&mut bytes)? {
        count += usize::from(tag == counted);
        skip(tag, wire_type, &mut bytes)?;
    }
    Ok(count)
}

fn reference(message: &proto::Reference) -> Result<Reference, Malformed> {
    match (message.address.parse(), message.path.parse()) {
        (Ok(address), Ok(path)) => Ok(Reference { address, path }),
        _ => Err(Malformed::new("reference", format!("{}:{}", message.address, message.path))),
    }
}

fn template(message: proto::Template) -> Result<Vec<TemplatePart>, Malformed> {
    let parts = message.parts.into_iter().filter_map(|part| part.part);
    let parts = parts.map(|part| match part {
        proto::template_part::Part::Text(text) => Ok(TemplatePart::Text(text)),
        proto::template_part::Part::Reference(message) => reference(&message).map(TemplatePart::Reference),
    });
    parts.collect()
}

fn secret(message: proto::Secret) -> Secret {
    Secret {
        source: message.source,
        fingerprint: message.fingerprint,
        text: message.text.map(SecretText::new),
    }
}

// ---- the encoding itself

/// The number and form of the next field; none at the end.
#[inline]
fn next(bytes: &mut &[u8]) -> Result<Option<(u32, WireType)>, Malformed> {
    if let Some((key @ 0x08..0x80, rest)) = bytes.split_first()
        && key & 7 == WireType::LengthDelimited as u8
    {
        // By far the most.
        *bytes = rest;
        return Ok(Some((u32::from(key >> 3), WireType::LengthDelimited)));
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    decode_key(bytes).map(Some).map_err(unreadable)
}

/// The bytes of a text or a message.
#[inline]
fn content<'a>(wire_type: WireType, bytes: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    encoding::check_wire_type(WireType::LengthDelimited, wire_type).map_err(unreadable)?;
    let length = decode_varint(bytes).map_err(unreadable)?;
    let halves = usize::try_from(length).ok().and_then(|length| bytes.split_at_checked(length));
    let (content, rest) = halves.ok_or_else(|| Malformed::new("value", "cut off"))?;
    *bytes = rest;
    Ok(content)
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Malformed::new("text", error.to_string())),
    }
}

fn message<M: Message + Default>(bytes: &[u8]) -> Result<M, Malformed> {
    M::decode(bytes).map_err(unreadable)
}

type Merge<'a, T> = fn(WireType, &mut T, &mut &'a [u8], DecodeContext) -> Result<(), DecodeError>;

fn scalar<'a, T>(
    merge: Merge<'a, T>,
    value: &mut T,
    wire_type: WireType,
    bytes: &mut &'a [u8],
) -> Result<(), Malformed> {
    merge(wire_type, value, bytes, DecodeContext::default()).map_err(unreadable)
}

/// Passes over a field: one of a later contract, or one that is only counted.
fn skip(tag: u32, wire_type: WireType, bytes: &mut &[u8]) -> Result<(), Malformed> {
    if wire_type == WireType::LengthDelimited {
        return content(wire_type, bytes).map(drop);
    }
    encoding::skip_field(wire_type, tag, bytes, DecodeContext::default()).map_err(unreadable)
}

fn deeper(depth: u32, levels: u32) -> Result<u32, Malformed> {
    depth.checked_sub(levels).ok_or_else(|| Malformed::new("value", "nested too deep"))
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn unreadable(error: DecodeError) -> Malformed {
    Malformed::new("value", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list in a list, so many times, around nothing.
    fn nested(levels: usize) -> Vec<u8> {
        let inner = (0..levels).fold(Value::Null, |value, _| Value::List(vec![value]));
        super::super::encode::value(&inner, false)
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert!(value(&[4 << 3 | 2, 1, 0xff]).is_err(), "no text");
        assert!(value(&[4 << 3 | 2, 9, b'a']).is_err(), "cut off");
        assert!(value(&[1 << 3 | 2, 1, b'a']).is_err(), "a text is not a truth");
        assert!(value(&[0x02, 0]).is_err(), "there is no field 0");
        assert!(value(&nested(50)).is_ok());
        assert!(value(&nested(60)).is_err(), "too deep for the stack of every provider");
    }

    #[test]
    fn what_a_later_contract_adds_is_passed_over() {
        let later = [4 << 3 | 2, 1, b'a', 0xa2, 0x01, 1, b'x', 0xa8, 0x01, 7];
        assert_eq!(value(&later).unwrap(), Value::from("a"));
    }
}
