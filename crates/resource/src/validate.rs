//! Holds values against a schema.

mod fit;

use std::collections::BTreeMap;

use crate::{Attribute, Mode, Path, Type, Value};

/// A value that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Misfit {
    /// Where.
    pub path: Path,
    /// The problem, in a sentence.
    pub message: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

/// All misfits of a map of attributes, in the order of their paths. References and unknowns fit everywhere.
#[must_use]
pub fn misfits(attributes: &BTreeMap<String, Attribute>, value: &Value) -> Vec<Misfit> {
    if fit::fits(attributes, value) { Vec::new() } else { search(attributes, value) }
}

fn search(attributes: &BTreeMap<String, Attribute>, value: &Value) -> Vec<Misfit> {
    let mut found = Vec::new();
    object(attributes, &Path::root(), value, &mut found);
    found
}

fn object(fields: &BTreeMap<String, Attribute>, path: &Path, value: &Value, found: &mut Vec<Misfit>) {
    let Some(entries) = value.as_map() else {
        return found.push(misfit(path, format!("expected an object, got {}", name_of(value))));
    };
    for (name, attribute) in fields {
        let path = path.child(name.as_str());
        match (entries.get(name).filter(|value| !value.is_null()), attribute.mode) {
            (None, Mode::Required) => found.push(misfit(&path, "is required".to_owned())),
            (None, _) => {}
            (Some(_), Mode::Computed) => found.push(misfit(&path, "is set by the server only".to_owned())),
            (Some(value), _) => check(&attribute.kind, &path, value, found),
        }
    }
    for name in entries.keys().filter(|name| !fields.contains_key(*name)) {
        found.push(Misfit {
            path: path.child(name.as_str()),
            message: "is not known".to_owned(),
            suggestion: nearest(name, fields.keys().map(String::as_str)),
        });
    }
}

fn check(kind: &Type, path: &Path, value: &Value, found: &mut Vec<Misfit>) {
    match (kind, value) {
        (_, Value::Unknown | Value::Reference(_) | Value::Null)
        | (Type::Any, _)
        | (Type::Bool, Value::Bool(_))
        | (Type::Integer, Value::Integer(_))
        | (Type::Float, Value::Integer(_) | Value::Float(_))
        | (Type::String, Value::String(_) | Value::Template(_) | Value::Secret(_)) => {}
        (Type::List(item) | Type::Set(item), Value::List(items)) => {
            for (index, value) in items.iter().enumerate() {
                check(item, &path.index(index), value, found);
            }
        }
        (Type::Map(item), Value::Map(entries)) => {
            for (key, value) in entries {
                check(item, &path.child(key.as_str()), value, found);
            }
        }
        (Type::Object(fields), Value::Map(_)) => object(fields, path, value, found),
        (expected, value) => {
            found.push(misfit(path, format!("expected {}, got {}", type_name(expected), name_of(value))));
        }
    }
}

fn misfit(path: &Path, message: String) -> Misfit {
    Misfit { path: path.clone(), message, suggestion: None }
}

/// The name in `candidates` that `text` probably means, if any is near enough.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(&text.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate.to_owned())
}

fn type_name(kind: &Type) -> &'static str {
    match kind {
        Type::Bool => "true or false",
        Type::Integer => "a whole number",
        Type::Float => "a number",
        Type::String => "a text",
        Type::Any => "anything",
        Type::List(_) => "a list",
        Type::Set(_) => "a set",
        Type::Map(_) => "a map",
        Type::Object(_) => "an object",
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::String(_) | Value::Template(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
        Value::Unknown => "an unknown value",
        Value::Reference(_) => "a reference",
        Value::Secret(_) => "a secret",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_misfits_are_found_at_once() {
        let fields = BTreeMap::from([
            ("cidr".to_owned(), Attribute::required(Type::String)),
            ("ports".to_owned(), Attribute::optional(Type::set(Type::Integer))),
            ("id".to_owned(), Attribute::computed(Type::String)),
        ]);
        let value = Value::map([
            ("ports", Value::list([Value::from(1i64), "x".into()])),
            ("id", "a".into()),
            ("crid", "10.0.0.0/8".into()),
        ]);
        let found: Vec<String> = misfits(&fields, &value).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "cidr: is required",
                "id: is set by the server only",
                "ports[1]: expected a whole number, got a text",
                "crid: is not known",
            ]
        );
        assert_eq!(misfits(&fields, &value)[3].suggestion.as_deref(), Some("cidr"));
    }
}
