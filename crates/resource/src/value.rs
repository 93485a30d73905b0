//! The typed value model: known, unknown until apply, secret, or a reference to another resource.

mod encode;
mod entries;
mod range;

use std::collections::BTreeMap;

use crate::{Address, Path, Secret, Segment};

pub use entries::{Entries, Entry};
pub use range::RangePart;

/// A value of a resource's attribute.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing; the same as an absent attribute.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    String(String),
    /// Values in order; the schema says whether the order matters.
    List(Vec<Value>),
    /// Values by key: an object or a map, as the schema says.
    Map(Entries),
    /// Known only after apply.
    Unknown,
    /// An attribute of another resource.
    Reference(Box<Reference>),
    /// A text with values in it.
    Template(Vec<TemplatePart>),
    /// A value that is never shown.
    Secret(Box<Secret>),
}

/// A reference to an attribute of another resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The other resource.
    pub address: Address,
    /// The attribute of it; `id` is its identity.
    pub path: Path,
}

impl Reference {
    /// Whether it names the object itself: its identity, not an attribute.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        matches!(self.path.segments(), [Segment::Key(key)] if key == "id")
    }
}

/// A piece of a [`Value::Template`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplatePart {
    /// Text as it is.
    Text(String),
    /// The text of another resource's attribute.
    Reference(Reference),
}

impl Value {
    /// A map of keys and values; nulls are left out.
    pub fn map<K: Into<String>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .filter(|(_, value)| !value.is_null())
                .collect(),
        )
    }

    /// A list of values.
    pub fn list<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// A reference to an attribute of another resource.
    #[must_use]
    pub fn reference(address: Address, attribute: &str) -> Self {
        Reference { address, path: Path::key(attribute) }.into()
    }

    /// Whether this is [`Value::Null`].
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, if this is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The items, if this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if this is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&Entries> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value under a key of a map; `None` for a missing key and for anything but a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The value at a path.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Value> {
        path.segments().iter().try_fold(self, |value, segment| match (segment, value) {
            (Segment::Key(key), Self::Map(entries)) => entries.get(key),
            (Segment::Index(index), Self::List(items)) => items.get(*index),
            _ => None,
        })
    }

    /// Puts a value at a path, making the maps on the way; a path that runs through a list or a scalar that
    /// is not there changes nothing and returns `false`. Null removes the key.
    pub fn set(&mut self, path: &Path, value: Value) -> bool {
        let Some((last, parents)) = path.segments().split_last() else {
            *self = value;
            return true;
        };
        let mut place = self;
        for segment in parents {
            if place.is_null() && matches!(segment, Segment::Key(_)) {
                *place = Self::Map(Entries::new());
            }
            let next = match (segment, place) {
                (Segment::Key(key), Self::Map(entries)) => entries.entry(key.clone()).or_default(),
                (Segment::Index(index), Self::List(items)) => match items.get_mut(*index) {
                    Some(item) => item,
                    None => return false,
                },
                _ => return false,
            };
            place = next;
        }
        match (last, place) {
            (Segment::Key(key), Self::Map(entries)) => {
                if value.is_null() {
                    entries.remove(key);
                } else {
                    entries.insert(key.clone(), value);
                }
                true
            }
            (Segment::Index(index), Self::List(items)) => match items.get_mut(*index) {
                Some(item) => {
                    *item = value;
                    true
                }
                None => false,
            },
            (Segment::Key(key), place @ Self::Null) => {
                *place = Self::map([(key.clone(), value)]);
                true
            }
            _ => false,
        }
    }

    /// Calls `visit` for every reference in the value, templates included.
    pub fn for_each_reference(&self, visit: &mut impl FnMut(&Reference)) {
        match self {
            Self::Reference(reference) => visit(reference),
            Self::Template(parts) => {
                for part in parts {
                    if let TemplatePart::Reference(reference) = part {
                        visit(reference);
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.for_each_reference(visit)),
            Self::Map(entries) => entries.values().for_each(|value| value.for_each_reference(visit)),
            _ => {}
        }
    }

    /// Calls `visit` for every secret in the value.
    pub fn for_each_secret(&self, visit: &mut impl FnMut(&Secret)) {
        match self {
            Self::Secret(secret) => visit(secret),
            Self::List(items) => items.iter().for_each(|item| item.for_each_secret(visit)),
            Self::Map(entries) => entries.values().for_each(|value| value.for_each_secret(visit)),
            _ => {}
        }
    }

    /// A copy in which every reference is replaced by what `lookup` returns for it; templates whose parts are
    /// all known become text, and one with an unknown part becomes unknown.
    #[must_use]
    pub fn resolve(&self, lookup: &mut impl FnMut(&Reference) -> Value) -> Value {
        match self {
            Self::Reference(reference) => lookup(reference),
            Self::Template(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        TemplatePart::Text(piece) => text.push_str(piece),
                        TemplatePart::Reference(reference) => match lookup(reference) {
                            Self::Unknown => return Self::Unknown,
                            value => text.push_str(&value.to_plain_text()),
                        },
                    }
                }
                Self::String(text)
            }
            Self::List(items) => Self::List(items.iter().map(|item| item.resolve(lookup)).collect()),
            Self::Map(_) if !self.has_reference() => self.clone(),
            Self::Map(entries) => Self::Map(entries.map_values(|value| value.resolve(lookup))),
            other => other.clone(),
        }
    }

    /// Whether a reference is in the value, templates included.
    #[must_use]
    pub fn has_reference(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Template(_) => true,
            Self::List(items) => items.iter().any(Self::has_reference),
            Self::Map(entries) => entries.values().any(Self::has_reference),
            _ => false,
        }
    }

    /// Whether nothing in the value is unknown or a reference.
    #[must_use]
    pub fn is_known(&self) -> bool {
        match self {
            Self::Unknown | Self::Reference(_) | Self::Template(_) => false,
            Self::List(items) => items.iter().all(Self::is_known),
            Self::Map(entries) => entries.values().all(Self::is_known),
            _ => true,
        }
    }

    /// The text of a scalar as a template shows it; JSON for the rest.
    #[must_use]
    pub fn to_plain_text(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            Self::Null => String::new(),
            other => other.to_json().to_string(),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(items: Vec<V>) -> Self {
        Self::list(items)
    }
}

impl From<BTreeMap<String, String>> for Value {
    fn from(entries: BTreeMap<String, String>) -> Self {
        Self::map(entries)
    }
}

impl From<Reference> for Value {
    fn from(reference: Reference) -> Self {
        Self::Reference(Box::new(reference))
    }
}

impl From<Secret> for Value {
    fn from(secret: Secret) -> Self {
        Self::Secret(Box::new(secret))
    }
}
