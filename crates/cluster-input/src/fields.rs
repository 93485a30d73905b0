//! The fields of a message, compared with a schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::path::join;
use crate::schema::MUST_UNDERSTAND;

/// Fields of a message that a schema does not have, or that it marks.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// Fields that the schema does not have.
    pub unknown: Vec<Field>,
    /// Fields that the schema marks as fields that a reader must know.
    pub marked: Vec<Field>,
}

/// One field of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    /// The JSON pointer (RFC 6901).
    pub pointer: String,
    /// The path as in the spec: list items by their name, as in `pools[workers].image`.
    pub path: String,
}

/// One step of the way to a place in a message.
#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    /// The number of an item, and its name if no earlier item has the same.
    Item(usize, Option<&'a str>),
}

impl Field {
    fn at(steps: &[Step<'_>]) -> Self {
        let mut field = Self::default();
        for step in steps {
            match step {
                Step::Key(key) => {
                    field.pointer += "/";
                    field.pointer += &key.replace('~', "~0").replace('/', "~1");
                    field.path = join(&field.path, key);
                }
                Step::Item(index, name) => {
                    field.pointer += &format!("/{index}");
                    field.path += &match name {
                        Some(name) => format!("[{name}]"),
                        None => format!("[{index}]"),
                    };
                }
            }
        }
        field
    }
}

/// Compares a message with a schema.
pub(crate) fn compare(schema: &Json, message: &Json) -> Fields {
    let mut walk = Walk {
        definitions: schema.get("$defs").and_then(Json::as_object),
        steps: Vec::new(),
        fields: Fields::default(),
    };
    walk.value(schema, message);
    walk.fields
}

struct Walk<'a> {
    definitions: Option<&'a Map<String, Json>>,
    /// The way to the value that is looked at.
    steps: Vec<Step<'a>>,
    fields: Fields,
}

impl<'a> Walk<'a> {
    fn value(&mut self, schema: &'a Json, value: &'a Json) {
        let schema = self.resolve(schema);
        match value {
            Json::Object(entries) => self.entries(schema, entries),
            Json::Array(items) => {
                let Some(of_items) = schema.get("items") else { return };
                let mut seen = BTreeSet::new();
                for (index, item) in items.iter().enumerate() {
                    let name = item.get("name").and_then(Json::as_str);
                    let name = name.filter(|name| !name.is_empty() && seen.insert(*name));
                    self.inside(Step::Item(index, name), of_items, item);
                }
            }
            _ => {}
        }
    }

    fn inside(&mut self, step: Step<'a>, schema: &'a Json, value: &'a Json) {
        self.steps.push(step);
        self.value(schema, value);
        self.steps.pop();
    }

    fn field(&self, key: &'a str) -> Field {
        let mut steps = self.steps.clone();
        steps.push(Step::Key(key));
        Field::at(&steps)
    }

    fn entries(&mut self, schema: &'a Json, entries: &'a Map<String, Json>) {
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let branches = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        let groups: Vec<&'a Map<String, Json>> = std::iter::once(schema)
            .chain(branches)
            .filter_map(|schema| schema.get("properties").and_then(Json::as_object))
            .collect();
        // A schema that names no field and no rule for fields says nothing about them.
        if groups.is_empty() && others.is_none() {
            return;
        }
        for (key, value) in entries {
            let known = groups.iter().find_map(|properties| properties.get(key));
            if known.is_some_and(|known| known.get(MUST_UNDERSTAND) == Some(&Json::Bool(true))) {
                self.fields.marked.push(self.field(key));
            }
            match known.or(others) {
                Some(schema) => self.inside(Step::Key(key), schema, value),
                None => self.fields.unknown.push(self.field(key)),
            }
        }
    }

    /// Follows references, and passes over "or null".
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        // A reference never leads to itself in a schema that is generated; the bound is for one that is not.
        for _ in 0..64 {
            let target = schema
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|reference| reference.strip_prefix("#/$defs/"))
                .and_then(|name| self.definitions?.get(name));
            let inner = schema.get("anyOf").and_then(Json::as_array).and_then(|branches| {
                branches.iter().find(|branch| branch.get("type").and_then(Json::as_str) != Some("null"))
            });
            match target.or(inner) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }
}
