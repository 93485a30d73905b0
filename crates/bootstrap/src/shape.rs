//! JSON values in the form in which a Go program would write them again after having read them.
//!
//! kubeadm reads a user's `KubeletConfiguration` into its own types and writes those: fields with their zero value
//! appear or vanish, `10m` becomes `10m0s`, `1000m` becomes `1`. A [`Shape`] says how the fields of such a type behave.
//! Fields that a shape does not know are kept as they are: a newer release may know them.

mod known;
mod kube_proxy;
mod kubelet;
mod pod;
mod quantity;

use serde_json::{Map, Value};

use crate::configuration::GoDuration;

pub(crate) use known::document;
pub(crate) use kube_proxy::KUBE_PROXY;
pub(crate) use kubelet::KUBELET;
pub(crate) use pod::{DEPLOYMENT, POD, environment};

/// How a value of a Go type is written.
pub(crate) enum Shape {
    /// As it is.
    Any,
    /// A text.
    Text,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// A span of time, as `4m0s`.
    Duration,
    /// A span of time, as nanoseconds or as text, whichever it was.
    TimeOrDuration,
    /// An amount, as `100m` or `64Mi`.
    Quantity,
    /// A value that may be missing, `null` then.
    Pointer(&'static Shape),
    /// Values in order.
    List(&'static Shape),
    /// Values by key.
    Map(&'static Shape),
    /// A struct.
    Object(&'static [Field]),
}

/// A field of a struct.
pub(crate) struct Field {
    name: &'static str,
    shape: Shape,
    presence: Presence,
}

/// When a field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// With its zero value when it is missing; lists, maps and pointers are `null` then.
    Always,
    /// Only with a value other than zero.
    Filled,
    /// When it was given, even as zero.
    Given,
}

/// A field that is always written.
const fn always(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, presence: Presence::Always }
}

/// A field that vanishes with its zero value.
const fn filled(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, presence: Presence::Filled }
}

/// A field that is written when it was given.
const fn given(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, presence: Presence::Given }
}

impl Shape {
    /// The value as it is written again; nothing at all is the zero value.
    pub(crate) fn encode(&self, value: Option<&Value>) -> Value {
        let value = value.filter(|value| !value.is_null());
        match (self, value) {
            (Self::Object(fields), Some(Value::Object(entries))) => object(fields, entries),
            (Self::Object(fields), None) => object(fields, &Map::new()),
            (Self::Pointer(inner), Some(value)) => inner.encode(Some(value)),
            (Self::List(item), Some(Value::Array(items))) => {
                items.iter().map(|value| item.encode(Some(value))).collect()
            }
            (Self::Map(item), Some(Value::Object(entries))) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone(), item.encode(Some(value)))).collect(),
            ),
            (Self::Duration | Self::TimeOrDuration, Some(Value::String(text))) => {
                text.parse::<GoDuration>().map_or_else(|_| text.clone(), |span| span.to_string()).into()
            }
            (Self::Quantity, Some(Value::String(text))) => quantity::canonical(text).into(),
            (Self::Quantity, Some(Value::Number(number))) => quantity::canonical(&number.to_string()).into(),
            (Self::Text, None) => "".into(),
            (Self::Bool, None) => false.into(),
            (Self::Number | Self::TimeOrDuration, None) => 0.into(),
            (Self::Duration, None) => "0s".into(),
            (Self::Quantity, None) => "0".into(),
            (Self::Any | Self::Pointer(_) | Self::List(_) | Self::Map(_), None) => Value::Null,
            // A value of another type than the field's is not ours to mend.
            (_, Some(other)) => other.clone(),
        }
    }
}

fn object(fields: &[Field], entries: &Map<String, Value>) -> Value {
    let mut written: Map<String, Value> =
        entries.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    for field in fields {
        let value = entries.get(field.name).filter(|value| !value.is_null());
        let encoded = match field.presence {
            Presence::Always => Some(field.shape.encode(value)),
            Presence::Filled => {
                value.map(|value| field.shape.encode(Some(value))).filter(|value| !is_zero(value))
            }
            Presence::Given => value.map(|value| field.shape.encode(Some(value))),
        };
        match encoded {
            Some(encoded) => written.insert(field.name.to_owned(), encoded),
            None => written.remove(field.name),
        };
    }
    Value::Object(written)
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SHAPE: Shape = Shape::Object(&[
        always("spent", Shape::Duration),
        filled("port", Shape::Number),
        given("enabled", Shape::Bool),
        always("names", Shape::List(&Shape::Text)),
    ]);

    #[test]
    fn zero_values_come_and_go_as_the_fields_say() {
        let read = json!({"port": 0, "enabled": false, "spent": "90s", "other": 1, "gone": null});
        assert_eq!(
            SHAPE.encode(Some(&read)),
            json!({"spent": "1m30s", "enabled": false, "names": null, "other": 1})
        );
        assert_eq!(SHAPE.encode(None), json!({"spent": "0s", "names": null}));
    }
}
