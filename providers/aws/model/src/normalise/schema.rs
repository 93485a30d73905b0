//! Normalisation by the schema alone.

use std::collections::BTreeMap;

use slipway_resource::{Attribute, Mode, Type, Value};

use super::Attributes;

/// Gives values the type of the schema if another one has the same meaning: a reference may resolve to a
/// number where a text is expected, as the version of a launch template. What is empty is left out.
pub(super) fn conform(fields: &BTreeMap<String, Attribute>, attributes: &mut Attributes) {
    for (name, value) in attributes.iter_mut() {
        if let Some(attribute) = fields.get(name) {
            conform_value(&attribute.kind, value);
        }
    }
    attributes.retain(|name, value| !value.is_null() && has_content(fields, name, value));
}

/// Whether a value is more than an empty one, which is as good as none unless the attribute is required.
fn has_content(fields: &BTreeMap<String, Attribute>, name: &str, value: &Value) -> bool {
    let required = fields.get(name).is_some_and(|attribute| attribute.mode == Mode::Required);
    required || !is_empty(value)
}

fn conform_value(kind: &Type, value: &mut Value) {
    match (kind, &mut *value) {
        (Type::String, Value::Integer(number)) => *value = Value::String(number.to_string()),
        (Type::String, Value::Bool(truth)) => *value = Value::String(truth.to_string()),
        (Type::Integer, Value::String(text)) => {
            if let Ok(number) = text.parse::<i64>() {
                *value = Value::Integer(number);
            }
        }
        (Type::Bool, Value::String(text)) => {
            if let Ok(truth) = text.parse::<bool>() {
                *value = Value::Bool(truth);
            }
        }
        (Type::List(item) | Type::Set(item), Value::List(items)) => {
            items.iter_mut().for_each(|value| conform_value(item, value));
        }
        (Type::Map(item), Value::Map(entries)) => {
            entries.values_mut().for_each(|value| conform_value(item, value));
        }
        (Type::Object(fields), Value::Map(entries)) => conform(fields, entries),
        _ => {}
    }
}

/// Fills in defaults, drops what is empty, sorts sets.
pub(super) fn settle(fields: &BTreeMap<String, Attribute>, attributes: &mut Attributes) {
    for (name, value) in attributes.iter_mut() {
        if let Some(attribute) = fields.get(name) {
            settle_value(&attribute.kind, value);
        }
    }
    attributes.retain(|name, value| has_content(fields, name, value));
    for (name, attribute) in fields {
        if !attribute.default.is_null() && !attributes.contains_key(name) {
            attributes.insert(name.clone(), attribute.default.clone());
        }
    }
}

fn settle_value(kind: &Type, value: &mut Value) {
    match (kind, value) {
        (Type::Set(item), Value::List(items)) => {
            items.iter_mut().for_each(|value| settle_value(item, value));
            items.sort();
            items.dedup();
        }
        (Type::List(item), Value::List(items)) => {
            items.iter_mut().for_each(|value| settle_value(item, value));
        }
        (Type::Map(item), Value::Map(entries)) => {
            entries.values_mut().for_each(|value| settle_value(item, value));
        }
        (Type::Object(fields), Value::Map(entries)) => settle(fields, entries),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}
