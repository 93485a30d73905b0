//! The structure of documents: the JSON schema of their type, read into a tree.
//!
//! The structural check, `explain` and the enumeration of leaves all use this tree. It is made from the
//! types, so it cannot differ from them.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::value::Format;

mod read;

/// The shape of one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The kind of the value.
    pub kind: Kind,
    /// The description of the type.
    pub description: String,
}

/// The kinds of values.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A mapping with known fields.
    Object(BTreeMap<String, Field>),
    /// A mapping with free keys.
    Map(Box<Shape>),
    /// A list.
    List(Box<Shape>),
    /// A mapping with exactly one of several keys.
    OneOf(BTreeMap<String, Field>),
    /// One of several words.
    Enum(Vec<Word>),
    /// A text, possibly in a given format.
    Text(Option<Format>),
    /// A constant text.
    Constant(String),
    /// `true` or `false`.
    Boolean,
    /// A whole number, with its bounds.
    Integer {
        /// The smallest.
        min: Option<i64>,
        /// The largest.
        max: Option<i64>,
    },
    /// A count or a percentage.
    Amount,
    /// Any value: another schema checks it.
    Opaque,
}

/// A field of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The shape of its value.
    pub shape: Shape,
    /// Its purpose; the description of the type when the field has none.
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
    /// The default, when it does not depend on other fields.
    pub default: Option<Json>,
}

/// One of several words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub value: String,
    /// The meaning of the word.
    pub description: String,
}

impl Shape {
    /// The shape of a type.
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        read::root(schema.as_value())
    }

    /// The fields of a mapping with known fields; `None` for everything else.
    #[must_use]
    pub const fn fields(&self) -> Option<&BTreeMap<String, Field>> {
        match &self.kind {
            Kind::Object(fields) | Kind::OneOf(fields) => Some(fields),
            _ => None,
        }
    }

    /// The expected kind of value, for messages: `a list`.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            Kind::Object(_) | Kind::Map(_) | Kind::OneOf(_) => "a mapping",
            Kind::List(_) => "a list",
            Kind::Enum(_) | Kind::Constant(_) | Kind::Text(None) => "a text",
            Kind::Text(Some(format)) => format.noun(),
            Kind::Boolean => "true or false",
            Kind::Integer { .. } => "a whole number",
            Kind::Amount => Format::Amount.noun(),
            Kind::Opaque => "any value",
        }
    }

    /// The simplest value of this shape, which replaces a refused one.
    #[must_use]
    pub fn stand_in(&self) -> Json {
        match &self.kind {
            Kind::Object(fields) => Json::Object(
                fields
                    .iter()
                    .filter(|(_, field)| field.required)
                    .map(|(name, field)| (name.clone(), field.shape.stand_in()))
                    .collect(),
            ),
            Kind::OneOf(fields) => Json::Object(
                fields.iter().take(1).map(|(name, field)| (name.clone(), field.shape.stand_in())).collect(),
            ),
            Kind::Map(_) => Json::Object(serde_json::Map::new()),
            Kind::List(_) => Json::Array(Vec::new()),
            Kind::Enum(words) => words.first().map_or(Json::Null, |word| word.value.as_str().into()),
            Kind::Text(format) => format.map_or("unknown", Format::example).into(),
            Kind::Constant(text) => text.as_str().into(),
            Kind::Boolean => false.into(),
            Kind::Integer { min, .. } => min.unwrap_or(1).max(1).into(),
            Kind::Amount => 1.into(),
            Kind::Opaque => Json::Null,
        }
    }
}
