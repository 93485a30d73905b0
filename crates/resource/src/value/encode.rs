//! Order of values, and their JSON.
//!
//! In JSON a value is itself, but for what JSON cannot say: `{"$unknown": true}`, `{"$reference": "type.name:path"}`,
//! `{"$template": […]}` and `{"$secret": {…}}`. A key of a map that begins with `$` gets one more `$`, so every
//! value comes back as it was.

use std::cmp::Ordering;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Entries, Reference, TemplatePart, Value};
use crate::{Path, Secret};

impl Value {
    /// The value of plain JSON, in which `$` has no meaning.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Float(number.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(text) => Self::String(text.clone()),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(entries) => {
                Self::map(entries.iter().map(|(key, value)| (key.clone(), Self::from_json(value))))
            }
        }
    }

    /// Plain JSON for reading: unknown is null, a secret its source, a reference its text. Not reversible;
    /// serialise the value itself where it must come back.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null | Self::Unknown => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Integer(number) => (*number).into(),
            Self::Float(number) => (*number).into(),
            Self::String(text) => text.as_str().into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, value)| (key.clone(), value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::Reference(reference) => reference.to_string().into(),
            Self::Template(parts) => parts
                .iter()
                .map(|part| match part {
                    TemplatePart::Text(text) => text.replace("${", "$${"),
                    TemplatePart::Reference(reference) => reference.to_string(),
                })
                .collect::<String>()
                .into(),
            Self::Secret(secret) => format!("(secret {})", secret.source).into(),
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "${{{}.{}}}", self.address, self.path)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A total order, for sets and for stable output. Integers and floats of the same number are equal.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Integer(left), Self::Integer(right)) => left.cmp(right),
            (Self::String(left), Self::String(right)) => left.cmp(right),
            (Self::List(left), Self::List(right)) => left.cmp(right),
            (Self::Map(left), Self::Map(right)) => left.cmp(right),
            (Self::Reference(left), Self::Reference(right)) => left.cmp(right),
            (Self::Template(left), Self::Template(right)) => left.cmp(right),
            (Self::Secret(left), Self::Secret(right)) => left.cmp(right),
            _ => match (number(self), number(other)) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                _ => rank(self).cmp(&rank(other)),
            },
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only mixed comparisons come here; whole numbers compare exactly"
)]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number + 0.0),
        _ => None,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Integer(_) | Value::Float(_) => 2,
        Value::String(_) => 3,
        Value::List(_) => 4,
        Value::Map(_) => 5,
        Value::Unknown => 6,
        Value::Reference(_) => 7,
        Value::Template(_) => 8,
        Value::Secret(_) => 9,
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::String(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    if key.starts_with('$') {
                        map.serialize_entry(&format!("${key}"), value)?;
                    } else {
                        map.serialize_entry(key, value)?;
                    }
                }
                map.end()
            }
            Self::Unknown => tagged(serializer, "$unknown", &true),
            Self::Reference(reference) => tagged(serializer, "$reference", &wire(reference)),
            Self::Template(parts) => {
                let parts: Vec<Self> = parts
                    .iter()
                    .map(|part| match part {
                        TemplatePart::Text(text) => Self::String(text.clone()),
                        TemplatePart::Reference(reference) => reference.clone().into(),
                    })
                    .collect();
                tagged(serializer, "$template", &parts)
            }
            Self::Secret(secret) => tagged(serializer, "$secret", secret),
        }
    }
}

fn tagged<S: Serializer>(serializer: S, tag: &str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, value)?;
    map.end()
}

/// `type.name:path`; a colon, since names may have dots. The last colon separates, paths have none unquoted.
fn wire(reference: &Reference) -> String {
    format!("{}:{}", reference.address, reference.path)
}

fn unwire(text: &str) -> Option<Reference> {
    let (address, path) = text.rsplit_once(':')?;
    Some(Reference { address: address.parse().ok()?, path: path.parse::<Path>().ok()? })
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> serde::de::Visitor<'de> for Visitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    #[expect(clippy::cast_precision_loss, reason = "beyond the whole numbers of the model")]
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::with_capacity(sequence.size_hint().unwrap_or(0).min(4096));
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::with_capacity(map.size_hint().unwrap_or(0).min(4096));
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "$unknown" => {
                    map.next_value::<bool>()?;
                    return Ok(Value::Unknown);
                }
                "$reference" => {
                    let text = map.next_value::<String>()?;
                    let reference = unwire(&text)
                        .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a reference")))?;
                    return Ok(reference.into());
                }
                "$template" => return template(map.next_value::<Vec<Value>>()?),
                "$secret" => return Ok(map.next_value::<Secret>()?.into()),
                other => {
                    let plain = match other.strip_prefix('$') {
                        Some(rest) if rest.starts_with('$') => rest.to_owned(),
                        Some(_) => {
                            return Err(serde::de::Error::custom(format!("unknown kind of value `{other}`")));
                        }
                        None => key,
                    };
                    entries.push((plain, map.next_value()?));
                }
            }
        }
        Ok(Value::Map(Entries::from_iter(entries)))
    }
}

fn template<E: serde::de::Error>(parts: Vec<Value>) -> Result<Value, E> {
    let part = |part| match part {
        Value::String(text) => Ok(TemplatePart::Text(text)),
        Value::Reference(reference) => Ok(TemplatePart::Reference(*reference)),
        _ => Err(E::custom("a template has texts and references only")),
    };
    Ok(Value::Template(parts.into_iter().map(part).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Address;

    fn values() -> impl Strategy<Value = Value> {
        let reference = Reference { address: Address::new("sim_record", "a.b:c"), path: Path::key("x.y") };
        let leaf = prop_oneof![
            Just(Value::Null),
            Just(Value::Unknown),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Integer),
            any::<i32>().prop_map(|number| Value::Float(f64::from(number) + 0.5)),
            "[$a-z{}]{0,4}".prop_map(Value::String),
            Just(Value::from(reference.clone())),
            Just(Value::from(Secret::new("env:A"))),
            Just(Value::Template(vec![TemplatePart::Text("${".into()), TemplatePart::Reference(reference)])),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
                prop::collection::btree_map("[$a-z]{1,3}", inner, 0..4)
                    .prop_map(|entries| Value::Map(entries.into())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value in values()) {
            let text = serde_json::to_string(&value).unwrap();
            let back: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back, &value);
            prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
        }
    }
}
