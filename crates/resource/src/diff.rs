//! The typed diff: the differences between observed and desired attributes, by the schema.
//!
//! An applied field that is no longer desired is a change. A field that was never applied and that the server
//! has set is not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Attribute, Mode, Path, ResourceType, Type, Value};

/// One attribute that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The path of the attribute.
    pub path: Path,
    /// The observed value; null if there is none.
    pub before: Value,
    /// The desired value; null to remove it, unknown until apply.
    pub after: Value,
    /// Whether it needs a new object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Whether both values are hidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

/// The changes from `observed` to `desired`, in the order of their paths.
///
/// `last_applied` has the attributes of the last apply, if known. It tells a removed field from one that the
/// server has set, and replaces fields that the provider never returns.
#[must_use]
pub fn diff(
    kind: &ResourceType,
    observed: &Value,
    desired: &Value,
    last_applied: Option<&Value>,
) -> Vec<Change> {
    let mut differ = Differ { changes: Vec::new() };
    differ.object(&kind.attributes, &Path::root(), observed, desired, last_applied, Inherited::default());
    differ.changes
}

#[derive(Clone, Copy, Default)]
struct Inherited {
    immutable: bool,
    sensitive: bool,
}

impl Inherited {
    fn of(self, attribute: &Attribute) -> Self {
        Self {
            immutable: self.immutable || attribute.immutable,
            sensitive: self.sensitive || attribute.sensitive,
        }
    }
}

struct Differ {
    changes: Vec<Change>,
}

impl Differ {
    fn object(
        &mut self,
        fields: &BTreeMap<String, Attribute>,
        path: &Path,
        observed: &Value,
        desired: &Value,
        last_applied: Option<&Value>,
        inherited: Inherited,
    ) {
        for (name, attribute) in fields {
            let wanted = desired.get(name).unwrap_or(&Value::Null);
            let applied = last_applied.and_then(|applied| applied.get(name));
            let found = match (attribute.write_only, last_applied) {
                (false, _) => observed.get(name).unwrap_or(&Value::Null),
                (true, Some(_)) => applied.unwrap_or(&Value::Null),
                // The applied value is not known. The desired value counts as applied, so that a rebuilt
                // state plans no change.
                (true, None) => wanted,
            };
            self.attribute(
                attribute,
                &path.child(name.as_str()),
                found,
                wanted,
                applied,
                inherited.of(attribute),
            );
        }
    }

    fn attribute(
        &mut self,
        attribute: &Attribute,
        path: &Path,
        found: &Value,
        wanted: &Value,
        applied: Option<&Value>,
        inherited: Inherited,
    ) {
        if wanted.is_null() && !attribute.default.is_null() && attribute.mode != Mode::Computed {
            let wanted = attribute.default.clone();
            return self.value(&attribute.kind, path, found, &wanted, applied, inherited);
        }
        let left_to_server = wanted.is_null() || *wanted == Value::Unknown;
        match attribute.mode {
            Mode::Computed => {}
            Mode::OptionalComputed if left_to_server => {
                let was_asked_for = applied.is_some_and(|applied| !applied.is_null());
                if was_asked_for && applied == Some(found) {
                    self.push(path, found, &Value::Unknown, inherited);
                }
            }
            _ => self.value(&attribute.kind, path, found, wanted, applied, inherited),
        }
    }

    fn value(
        &mut self,
        kind: &Type,
        path: &Path,
        found: &Value,
        wanted: &Value,
        applied: Option<&Value>,
        inherited: Inherited,
    ) {
        match (kind, found, wanted) {
            (Type::Object(fields), Value::Map(_), Value::Map(_)) => {
                self.object(fields, path, found, wanted, applied, inherited);
            }
            (Type::Map(item), Value::Map(before), Value::Map(after)) => {
                let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
                for key in keys {
                    let found = before.get(key).unwrap_or(&Value::Null);
                    let wanted = after.get(key).unwrap_or(&Value::Null);
                    let applied = applied.and_then(|applied| applied.get(key));
                    self.value(item, &path.child(key.as_str()), found, wanted, applied, inherited);
                }
            }
            // Values without a schema are compared as deep as both sides have the same shape.
            (Type::Any, Value::Map(_), Value::Map(_)) => {
                let fields = Type::map(Type::Any);
                self.value(&fields, path, found, wanted, applied, inherited);
            }
            (Type::Any, Value::List(before), Value::List(after)) if before.len() == after.len() => {
                let items = Type::list(Type::Any);
                self.value(&items, path, found, wanted, applied, inherited);
            }
            (Type::List(item), Value::List(before), Value::List(after)) if before.len() == after.len() => {
                for (index, (found, wanted)) in before.iter().zip(after).enumerate() {
                    let applied = applied.and_then(Value::as_list).and_then(|items| items.get(index));
                    self.value(item, &path.index(index), found, wanted, applied, inherited);
                }
            }
            _ => {
                if !same(kind, found, wanted) {
                    self.push(path, found, wanted, inherited);
                }
            }
        }
    }

    fn push(&mut self, path: &Path, before: &Value, after: &Value, inherited: Inherited) {
        self.changes.push(Change {
            path: path.clone(),
            before: before.clone(),
            after: after.clone(),
            replaces: inherited.immutable,
            sensitive: inherited.sensitive
                || matches!(before, Value::Secret(_))
                || matches!(after, Value::Secret(_)),
        });
    }
}

/// Whether two values mean the same to a type. The order in a set does not matter, null is the same as empty,
/// and fields that only the server sets are ignored.
#[must_use]
pub fn same(kind: &Type, left: &Value, right: &Value) -> bool {
    if is_empty(left) && is_empty(right) {
        return true;
    }
    match (kind, left, right) {
        (Type::Set(item), Value::List(left), Value::List(right)) => {
            left.len() == right.len() && {
                let sorted = |items: &[Value]| {
                    let mut items: Vec<Value> = items.iter().map(|value| canonical(item, value)).collect();
                    items.sort();
                    items
                };
                sorted(left) == sorted(right)
            }
        }
        (Type::List(item), Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(item, left, right))
        }
        (Type::Map(item), Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((a, left), (b, right))| a == b && same(item, left, right))
        }
        (Type::Object(_), Value::Map(_), Value::Map(_)) => canonical(kind, left) == canonical(kind, right),
        _ => left == right,
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

/// A value with its sets sorted, its empty parts and computed fields left out.
fn canonical(kind: &Type, value: &Value) -> Value {
    match (kind, value) {
        (Type::Set(item), Value::List(items)) => {
            let mut items: Vec<Value> = items.iter().map(|value| canonical(item, value)).collect();
            items.sort();
            Value::List(items)
        }
        (Type::List(item), Value::List(items)) => {
            Value::List(items.iter().map(|value| canonical(item, value)).collect())
        }
        (Type::Map(item), Value::Map(entries)) => {
            Value::map(entries.iter().map(|(key, value)| (key.clone(), canonical(item, value))))
        }
        (Type::Object(fields), Value::Map(entries)) => {
            Value::map(fields.iter().filter_map(|(name, attribute)| {
                let value = entries.get(name).unwrap_or(&attribute.default);
                (attribute.mode != Mode::Computed && !is_empty(value))
                    .then(|| (name.clone(), canonical(&attribute.kind, value)))
            }))
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests;
