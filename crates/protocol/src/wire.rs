//! Values on the wire: encoded straight from the engine's type, without a second tree in between.

mod encode;

use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};
use slipway_resource::{Reference, Secret, SecretText, TemplatePart, Value};

use crate::convert::Malformed;
use crate::generated as proto;

/// One message `Value` of the contract.
///
/// The texts of secrets are left out unless it was made by [`WireValue::with_texts`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireValue {
    value: Value,
    with_texts: bool,
    /// What was wrong in it when it was decoded; the first fault only.
    malformed: Option<Box<str>>,
}

impl WireValue {
    /// A value without the texts of its secrets.
    #[must_use]
    pub fn new(value: Value) -> Self {
        Self { value, with_texts: false, malformed: None }
    }

    /// A value with the texts of its secrets, for the calls that need them.
    #[must_use]
    pub fn with_texts(value: Value) -> Self {
        Self { with_texts: true, ..Self::new(value) }
    }

    /// The value.
    ///
    /// # Errors
    /// When a reference in it is none.
    pub fn into_value(self) -> Result<Value, Malformed> {
        match self.malformed {
            None => Ok(self.value),
            Some(text) => Err(Malformed::new("reference", text)),
        }
    }

    fn take(&mut self, item: Self) -> Value {
        if self.malformed.is_none() {
            self.malformed = item.malformed;
        }
        item.value
    }

    fn read_reference(&mut self, reference: &proto::Reference) -> Option<Reference> {
        match (reference.address.parse(), reference.path.parse()) {
            (Ok(address), Ok(path)) => Some(Reference { address, path }),
            _ => {
                let text = format!("{}:{}", reference.address, reference.path);
                self.malformed.get_or_insert_with(|| text.into());
                None
            }
        }
    }

    fn read_template(&mut self, template: proto::Template) -> Value {
        let parts = template.parts.into_iter().filter_map(|part| match part.part? {
            proto::template_part::Part::Text(text) => Some(TemplatePart::Text(text)),
            proto::template_part::Part::Reference(reference) => {
                self.read_reference(&reference).map(TemplatePart::Reference)
            }
        });
        Value::Template(parts.collect())
    }
}

impl Message for WireValue {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        encode::value(&self.value, self.with_texts, buffer);
    }

    fn encoded_len(&self) -> usize {
        encode::value_len(&self.value, self.with_texts)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        self.value = match tag {
            1 => {
                let mut value = false;
                encoding::bool::merge(wire_type, &mut value, buffer, context)?;
                Value::Bool(value)
            }
            2 => {
                let mut number = 0;
                encoding::sint64::merge(wire_type, &mut number, buffer, context)?;
                Value::Integer(number)
            }
            3 => {
                let mut number = 0.0;
                encoding::double::merge(wire_type, &mut number, buffer, context)?;
                Value::Float(number)
            }
            4 => {
                let mut text = String::new();
                encoding::string::merge(wire_type, &mut text, buffer, context)?;
                Value::String(text)
            }
            5 => {
                let list = message::<proto::ListValue>(wire_type, buffer, context)?;
                Value::List(list.items.into_iter().map(|item| self.take(item)).collect())
            }
            6 => {
                let map = message::<proto::MapValue>(wire_type, buffer, context)?;
                let entries = map.entries.into_iter().map(|entry| {
                    let value = entry.value.map(|value| self.take(value));
                    (entry.key, value.unwrap_or_default())
                });
                Value::Map(entries.collect())
            }
            7 => {
                message::<proto::Unknown>(wire_type, buffer, context)?;
                Value::Unknown
            }
            8 => {
                let reference = message::<proto::Reference>(wire_type, buffer, context)?;
                self.read_reference(&reference).map_or(Value::Null, Value::Reference)
            }
            9 => {
                let template = message::<proto::Template>(wire_type, buffer, context)?;
                self.read_template(template)
            }
            10 => {
                let secret = message::<proto::Secret>(wire_type, buffer, context)?;
                Value::Secret(Secret {
                    source: secret.source,
                    fingerprint: secret.fingerprint,
                    text: secret.text.map(SecretText::new),
                })
            }
            _ => return encoding::skip_field(wire_type, tag, buffer, context),
        };
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

fn message<M: Message + Default>(
    wire_type: WireType,
    buffer: &mut impl Buf,
    context: DecodeContext,
) -> Result<M, DecodeError> {
    let mut message = M::default();
    encoding::message::merge(wire_type, &mut message, buffer, context)?;
    Ok(message)
}

impl std::fmt::Debug for proto::Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secret").field("source", &self.source).finish_non_exhaustive()
    }
}
