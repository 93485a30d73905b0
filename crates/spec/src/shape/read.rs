use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{Field, Kind, Shape, Word};
use crate::value::Format;

/// Reads the JSON schema of a type, in the forms that `schemars` writes for the types of this crate.
pub(super) fn root(schema: &Json) -> Shape {
    let empty = Map::new();
    let definitions = schema.get("$defs").and_then(Json::as_object).unwrap_or(&empty);
    Reader { definitions }.shape(schema)
}

struct Reader<'a> {
    definitions: &'a Map<String, Json>,
}

impl Reader<'_> {
    fn shape(&self, schema: &Json) -> Shape {
        let schema = self.resolve(schema);
        Shape { kind: self.kind(schema), description: text(schema, "description") }
    }

    /// Follows references, and passes over "or null".
    fn resolve<'b>(&'b self, mut schema: &'b Json) -> &'b Json {
        loop {
            let target = schema
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|reference| reference.strip_prefix("#/$defs/"))
                .and_then(|name| self.definitions.get(name));
            let inner = schema.get("anyOf").and_then(Json::as_array).and_then(|branches| {
                branches.iter().find(|branch| branch.get("type").and_then(Json::as_str) != Some("null"))
            });
            match target.or(inner) {
                Some(next) => schema = next,
                None => return schema,
            }
        }
    }

    fn kind(&self, schema: &Json) -> Kind {
        if let Some(branches) = schema.get("oneOf").and_then(Json::as_array) {
            return self.choice(branches);
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            let words = words.iter().filter_map(Json::as_str);
            return Kind::Enum(
                words.map(|word| Word { value: word.to_owned(), description: String::new() }).collect(),
            );
        }
        if let Some(constant) = schema.get("const").and_then(Json::as_str) {
            return Kind::Constant(constant.to_owned());
        }
        let format = schema.get("format").and_then(Json::as_str).and_then(Format::from_name);
        if format == Some(Format::Amount) {
            return Kind::Amount;
        }
        match type_of(schema) {
            Some("object") => self.object(schema),
            Some("array") => {
                Kind::List(Box::new(schema.get("items").map_or_else(opaque, |items| self.shape(items))))
            }
            Some("string") => Kind::Text(format),
            Some("boolean") => Kind::Boolean,
            Some("integer") => Kind::Integer { min: bound(schema, "minimum"), max: bound(schema, "maximum") },
            _ => Kind::Opaque,
        }
    }

    fn choice(&self, branches: &[Json]) -> Kind {
        let words: Option<Vec<Word>> = branches
            .iter()
            .map(|branch| {
                let value = branch.get("const")?.as_str()?.to_owned();
                Some(Word { value, description: text(branch, "description") })
            })
            .collect();
        if let Some(words) = words {
            return Kind::Enum(words);
        }
        let mut fields = BTreeMap::new();
        for branch in branches {
            for (name, mut field) in self.fields(branch) {
                // The description of the variant is beside it, and that of its value inside.
                let own = text(branch, "description");
                if !own.is_empty() {
                    field.description = own;
                }
                field.required = false;
                fields.insert(name, field);
            }
        }
        Kind::OneOf(fields)
    }

    fn object(&self, schema: &Json) -> Kind {
        match schema.get("additionalProperties") {
            Some(values) if values.is_object() => Kind::Map(Box::new(self.shape(values))),
            _ if schema.get("properties").is_some() || schema.get("additionalProperties").is_some() => {
                Kind::Object(self.fields(schema))
            }
            _ => Kind::Opaque,
        }
    }

    fn fields(&self, schema: &Json) -> BTreeMap<String, Field> {
        let empty = Map::new();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Json::as_array)
            .map(|names| names.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        schema
            .get("properties")
            .and_then(Json::as_object)
            .unwrap_or(&empty)
            .iter()
            .map(|(name, schema)| {
                let shape = self.shape(schema);
                let own = text(schema, "description");
                let description = if own.is_empty() { shape.description.clone() } else { own };
                let default = schema.get("default").filter(|default| !default.is_null()).cloned();
                let required = required.contains(&name.as_str());
                (name.clone(), Field { shape, description, required, default })
            })
            .collect()
    }
}

fn opaque() -> Shape {
    Shape { kind: Kind::Opaque, description: String::new() }
}

fn type_of(schema: &Json) -> Option<&str> {
    match schema.get("type")? {
        Json::String(name) => Some(name),
        Json::Array(names) => names.iter().filter_map(Json::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

fn bound(schema: &Json, name: &str) -> Option<i64> {
    let number = schema.get(name)?;
    // `schemars` may write a bound as a float.
    number.as_i64().or_else(|| {
        let whole = number.as_f64()?;
        format!("{whole:.0}").parse().ok()
    })
}

/// A text of a schema, its line breaks made spaces.
fn text(schema: &Json, name: &str) -> String {
    let text = schema.get(name).and_then(Json::as_str).unwrap_or_default();
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1alpha1::{ClusterDocument, NodePoolDocument};

    #[test]
    fn reads_every_form_that_the_documents_use() {
        let shape = Shape::of::<ClusterDocument>();
        let field = |path: &[&str]| {
            path.iter().fold(&shape, |shape, name| &shape.fields().unwrap()[*name].shape).clone()
        };
        assert_eq!(field(&["kind"]).kind, Kind::Constant("Cluster".to_owned()));
        assert_eq!(field(&["spec", "network", "cidr"]).kind, Kind::Text(Some(Format::Cidr)));
        assert!(
            matches!(field(&["spec", "network", "topology"]).kind, Kind::Enum(words) if words.len() == 2)
        );
        assert!(matches!(field(&["spec", "controlPlane", "endpoint"]).kind, Kind::OneOf(_)));
        assert_eq!(field(&["spec", "rollout", "maxSurge"]).kind, Kind::Amount);
        assert_eq!(field(&["spec", "provider", "config"]).kind, Kind::Opaque);
        let port = field(&["spec", "controlPlane", "endpoint", "given", "port"]).kind;
        assert_eq!(port, Kind::Integer { min: Some(1), max: Some(65535) });
    }

    #[test]
    fn every_field_has_words() {
        fn walk(path: &str, shape: &Shape) {
            match &shape.kind {
                Kind::Object(fields) | Kind::OneOf(fields) => {
                    for (name, field) in fields {
                        let path = format!("{path}.{name}");
                        assert!(!field.description.is_empty(), "{path} has no description");
                        walk(&path, &field.shape);
                    }
                }
                Kind::List(item) | Kind::Map(item) => walk(path, item),
                _ => {}
            }
        }
        walk("cluster", &Shape::of::<ClusterDocument>());
        walk("nodepool", &Shape::of::<NodePoolDocument>());
    }
}
