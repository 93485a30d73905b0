//! Checks of a provider's normalisation of desired values: it may change the form, but not the value.

use std::collections::BTreeMap;

use crate::form::same_text;
use crate::{Attribute, Form, Path, ResourceType, Type, Value};

/// A wanted value that came back as another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Altered {
    /// Which one.
    pub path: Path,
    /// As the spec wants it.
    pub wanted: Value,
    /// As the provider would have it.
    pub given: Value,
}

/// The first wanted value that a provider has altered.
///
/// Numbers and truth values are kept. A text stays as it is, or differs only in the [`Form`]s that its attribute declares. The
/// order of a collection is the cloud's. What says nothing (an empty collection or text, `false`, 0, the default) may be left
/// out. An attribute whose type declares a form of its own ([`Attribute::own_form`]) may become anything. `observed` is the
/// existing object, whose value may stay where the attribute declares [`Form::Kept`].
#[must_use]
pub fn altered(
    kind: &ResourceType,
    wanted: &Value,
    given: &Value,
    observed: Option<&Value>,
) -> Option<Altered> {
    fields(&kind.attributes, &Path::root(), (wanted, given), observed)
}

fn fields(
    attributes: &BTreeMap<String, Attribute>,
    path: &Path,
    (wanted, given): (&Value, &Value),
    observed: Option<&Value>,
) -> Option<Altered> {
    attributes.iter().filter(|(_, attribute)| !attribute.own_form && !attribute.write_only).find_map(
        |(name, attribute)| {
            let wanted = wanted.get(name)?;
            let given = given.get(name).unwrap_or(&Value::Null);
            if given.is_null() && *wanted == attribute.default {
                return None;
            }
            let there = observed.map(|observed| observed.get(name).unwrap_or(&Value::Null));
            if attribute.forms.contains(&Form::Kept) && there == Some(given) {
                return None;
            }
            value((&attribute.kind, &attribute.forms), &path.child(name.as_str()), (wanted, given), there)
        },
    )
}

fn value(
    (kind, forms): (&Type, &[Form]),
    path: &Path,
    (wanted, given): (&Value, &Value),
    observed: Option<&Value>,
) -> Option<Altered> {
    let altered = || Some(Altered { path: path.clone(), wanted: wanted.clone(), given: given.clone() });
    match (kind, wanted, given) {
        (
            _,
            Value::Null | Value::Unknown | Value::Reference(_) | Value::Template(_) | Value::Secret(_),
            _,
        ) => None,
        // Only apply will tell.
        (_, _, Value::Unknown | Value::Reference(_) | Value::Template(_)) => None,
        (_, wanted, given) if says_nothing(wanted) && (given.is_null() || says_nothing(given)) => None,
        (Type::Object(attributes), Value::Map(_), Value::Map(_)) => {
            fields(attributes, path, (wanted, given), observed)
        }
        (Type::Map(item), Value::Map(entries), Value::Map(_)) => entries.iter().find_map(|(key, wanted)| {
            let given = given.get(key).unwrap_or(&Value::Null);
            value((item, forms), &path.child(key.as_str()), (wanted, given), None)
        }),
        (Type::List(item) | Type::Set(item), Value::List(items), Value::List(given)) => {
            let missing = items
                .iter()
                .enumerate()
                .find(|(_, wanted)| !given.iter().any(|given| same((item, forms), path, wanted, given)))?;
            // The one in its place, for the message.
            let (index, wanted) = missing;
            let given = given.get(index).unwrap_or(&Value::Null);
            value((item, forms), &path.index(index), (wanted, given), None).or_else(altered)
        }
        // Of what has no schema, the form is the cloud's.
        (Type::Any, _, _) | (_, Value::Map(_), Value::Map(_)) | (_, Value::List(_), Value::List(_)) => None,
        // A whole that amounts to nothing may be left out.
        (_, Value::Map(_) | Value::List(_), Value::Null) => None,
        (_, Value::Bool(_) | Value::Integer(_) | Value::Float(_), _) => {
            if same_scalar(wanted, given) {
                None
            } else {
                altered()
            }
        }
        (_, Value::String(wanted), Value::String(given)) if same_text(forms, wanted, given) => None,
        (_, Value::String(_), _) if same_scalar(wanted, given) => None,
        _ => altered(),
    }
}

fn same(kind: (&Type, &[Form]), path: &Path, wanted: &Value, given: &Value) -> bool {
    value(kind, path, (wanted, given), None).is_none()
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Integer(number) => *number == 0,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

/// Whether two values are one in two spellings, as `443` and `"443"`.
fn same_scalar(left: &Value, right: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) => Some(value.to_json().to_string()),
        _ => None,
    };
    let number = |text: &String| text.parse::<f64>().ok();
    match (text(left), text(right)) {
        (Some(left), Some(right)) => {
            left == right || number(&left).is_some_and(|left| number(&right) == Some(left))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::{OwnershipKind, attributes};

    use super::*;

    fn kind() -> ResourceType {
        let port = Type::object([("port", Attribute::optional(Type::Integer))]);
        let attributes = attributes([
            ("name", Attribute::optional(Type::String).forms([Form::Domain])),
            ("label", Attribute::optional(Type::String)),
            ("key", Attribute::optional(Type::String).forms([Form::Kept])),
            ("ranges", Attribute::optional(Type::set(Type::String)).forms([Form::Range])),
            ("size", Attribute::optional(Type::Integer)),
            ("open", Attribute::optional(Type::Bool).default_to(true)),
            ("ports", Attribute::optional(Type::list(port))),
            ("tags", Attribute::optional(Type::set(Type::String))),
            ("from", Attribute::optional(Type::Integer).own_form()),
        ]);
        ResourceType { attributes, ..ResourceType::new("", OwnershipKind::Tags, "") }
    }

    fn path(wanted: &serde_json::Value, given: &serde_json::Value) -> Option<String> {
        let altered = altered(&kind(), &Value::from_json(wanted), &Value::from_json(given), None);
        altered.map(|altered| altered.path.to_string())
    }

    #[test]
    fn another_form_is_taken() {
        use serde_json::json;
        for (wanted, given) in [
            (json!({"name": "A.example.com."}), json!({"name": "a.example.com"})),
            (json!({"ranges": ["10.0.0.7/8", "fd00::/8"]}), json!({"ranges": ["fd00::/8", "10.0.0.0/8"]})),
            (json!({"size": "1"}), json!({"size": 1})),
            (json!({"size": 1}), json!({"size": 1.0})),
            (json!({"size": 0, "tags": []}), json!({})),
            (json!({"open": true}), json!({})),
            (json!({"tags": ["b", "a"]}), json!({"tags": ["a", "b"]})),
            (json!({"ports": [{"port": 1}, {"port": 2}]}), json!({"ports": [{"port": 2}, {"port": 1}]})),
            (json!({"open": false}), json!({})),
            (json!({"from": -1}), json!({"from": 0})),
            (json!({"ports": [{"port": 1}]}), json!({"ports": [{"port": 1}], "size": 7})),
        ] {
            assert_eq!(path(&wanted, &given), None, "{wanted} {given}");
        }
    }

    #[test]
    fn another_value_is_refused() {
        use serde_json::json;
        for (wanted, given, expected) in [
            (json!({"size": 1}), json!({"size": 666}), "size"),
            (json!({"size": 1}), json!({}), "size"),
            (json!({"open": false, "size": 2}), json!({"open": false, "size": "3"}), "size"),
            (json!({"ports": [{"port": 1}]}), json!({"ports": [{"port": 2}]}), "ports[0].port"),
            (json!({"open": false}), json!({"open": true}), "open"),
            (json!({"size": 0}), json!({"size": 666}), "size"),
            (json!({"ports": [{"port": 1}, {"port": 2}]}), json!({"ports": [{"port": 1}]}), "ports"),
            (json!({"name": "a"}), json!({"name": "b"}), "name"),
            (json!({"label": "a"}), json!({"label": "A"}), "label"),
            (json!({"label": "a"}), json!({"label": "666"}), "label"),
            (json!({"ranges": ["10.0.0.0/8"]}), json!({"ranges": ["0.0.0.0/0"]}), "ranges[0]"),
            (json!({"name": "a"}), json!({"name": ["a"]}), "name"),
            (json!({"name": "a"}), json!({}), "name"),
        ] {
            assert_eq!(path(&wanted, &given).as_deref(), Some(expected), "{wanted} {given}");
        }
    }

    #[test]
    fn an_existing_value_stays_where_it_is_declared_and_there() {
        let value = |key: &str| Value::map([("key", key)]);
        let (wanted, there) = (value("ecdsa"), value("rsa"));
        assert_eq!(altered(&kind(), &wanted, &there, Some(&there)), None);
        assert!(altered(&kind(), &wanted, &value("dsa"), Some(&there)).is_some());
        assert!(altered(&kind(), &wanted, &there, None).is_some());
    }
}
