//! The attributes of an object after a change, and those that are never shown.

use std::collections::BTreeMap;

use slipway_resource::diff::Change;
use slipway_resource::{Attribute, Mode, Path, ResourceType, Type, Value};

/// The attributes of an existing object after its change, from those that its provider has normalised: ignored differences keep
/// the observed value, and the attributes that the server sets are filled in.
pub(crate) fn attributes_after(
    mut after: Value,
    (kind, observed): (&ResourceType, &Value),
    is_replaced: bool,
    (ignored, unknown_after): (&[Change], &[Path]),
) -> Value {
    for change in ignored {
        after.set(&change.path, change.before.clone());
    }
    if is_replaced {
        forget_computed(&mut after, kind, observed);
    }
    complete(&mut after, kind, (!is_replaced).then_some(observed), unknown_after);
    after
}

/// The attributes of an object that is created, from those that its provider has normalised.
pub(crate) fn attributes_of_new(mut after: Value, kind: &ResourceType) -> Value {
    complete(&mut after, kind, None, &[]);
    after
}

/// Fills in the attributes that the server sets: the observed ones where the object stays, unknown ones
/// otherwise.
fn complete(after: &mut Value, kind: &ResourceType, observed: Option<&Value>, unknown_after: &[Path]) {
    let Value::Map(entries) = after else { return };
    for (name, attribute) in &kind.attributes {
        let server_sets = matches!(attribute.mode, Mode::Computed | Mode::OptionalComputed);
        if !server_sets || entries.get(name).is_some_and(|value| !value.is_null()) {
            continue;
        }
        let value = match observed {
            Some(observed) => observed.get(name).cloned().unwrap_or_default(),
            None => Value::Unknown,
        };
        if !value.is_null() {
            entries.insert(name.clone(), value);
        }
    }
    for path in unknown_after {
        after.set(path, Value::Unknown);
    }
}

/// Removes computed attributes of the old object: the server may set other values on the new one.
fn forget_computed(after: &mut Value, kind: &ResourceType, observed: &Value) {
    let Value::Map(entries) = after else { return };
    entries.retain(|name, value| {
        let is_computed = kind.attributes.get(name).is_some_and(|attribute| attribute.mode == Mode::Computed);
        !is_computed || observed.get(name) != Some(value)
    });
}

/// The fields of an object, also of the objects in a collection: the path has no index or key then.
pub(crate) fn fields_of(kind: &Type) -> Option<&BTreeMap<String, Attribute>> {
    match kind {
        Type::Object(fields) => Some(fields),
        Type::List(item) | Type::Set(item) | Type::Map(item) => fields_of(item),
        _ => None,
    }
}

/// The paths of all values that are never shown.
pub(crate) fn sensitive_paths(attributes: &BTreeMap<String, Attribute>) -> Vec<Path> {
    fn collect(fields: &BTreeMap<String, Attribute>, path: &Path, found: &mut Vec<Path>) {
        for (name, attribute) in fields {
            let path = path.child(name.as_str());
            if attribute.sensitive {
                found.push(path);
            } else if let Some(inner) = fields_of(&attribute.kind) {
                collect(inner, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(attributes, &Path::root(), &mut found);
    found
}
