//! A quick look whether values fit, which allocates nothing: the usual answer is yes, and only for a no the
//! misfits are searched and named.

use std::collections::BTreeMap;

use crate::{Attribute, Mode, Type, Value};

/// Whether there are no misfits.
pub(super) fn fits(fields: &BTreeMap<String, Attribute>, value: &Value) -> bool {
    let Some(entries) = value.as_map() else { return false };
    let all_known = entries.iter().all(|(name, value)| match fields.get(name) {
        None => false,
        Some(_) if value.is_null() => true,
        Some(attribute) => attribute.mode != Mode::Computed && fits_type(&attribute.kind, value),
    });
    all_known
        && fields.iter().all(|(name, attribute)| {
            attribute.mode != Mode::Required || entries.get(name).is_some_and(|value| !value.is_null())
        })
}

fn fits_type(kind: &Type, value: &Value) -> bool {
    match (kind, value) {
        (_, Value::Unknown | Value::Reference(_) | Value::Null)
        | (Type::Any, _)
        | (Type::Bool, Value::Bool(_))
        | (Type::Integer, Value::Integer(_))
        | (Type::Float, Value::Integer(_) | Value::Float(_))
        | (Type::String, Value::String(_) | Value::Template(_) | Value::Secret(_)) => true,
        (Type::List(item) | Type::Set(item), Value::List(items)) => {
            items.iter().all(|value| fits_type(item, value))
        }
        (Type::Map(item), Value::Map(entries)) => entries.values().all(|value| fits_type(item, value)),
        (Type::Object(fields), value @ Value::Map(_)) => fits(fields, value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::search;

    #[test]
    fn says_no_exactly_where_there_are_misfits() {
        let fields = BTreeMap::from([
            ("a".to_owned(), Attribute::required(Type::String)),
            ("b".to_owned(), Attribute::optional(Type::set(Type::Integer))),
            ("c".to_owned(), Attribute::computed(Type::String)),
            ("d".to_owned(), Attribute::optional(Type::object([("e", Attribute::required(Type::Bool))]))),
        ]);
        let candidates = [
            serde_json::json!({"a": "x"}),
            serde_json::json!({"a": "x", "b": [1, 2], "d": {"e": true}}),
            serde_json::json!({}),
            serde_json::json!({"a": 1}),
            serde_json::json!({"a": "x", "b": ["y"]}),
            serde_json::json!({"a": "x", "c": "y"}),
            serde_json::json!({"a": "x", "d": {}}),
            serde_json::json!({"a": "x", "z": 1}),
            serde_json::json!([]),
        ];
        for candidate in candidates {
            let value = Value::from_json(&candidate);
            assert_eq!(fits(&fields, &value), search(&fields, &value).is_empty(), "{candidate}");
        }
    }
}
