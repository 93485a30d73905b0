//! References to other resources, as far as they are known when planning.

use std::collections::BTreeMap;

use slipway_resource::{Address, Identity, Path, Reference, Value};

/// The facts about a resource that others refer to.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It exists and stays: all of it is known, but for the paths that the plan will change.
    Stays { identity: Identity, attributes: Value, unknown: Vec<Path> },
    /// It will be created: attributes of the spec are known, those of the server are not.
    Comes { attributes: Value },
    /// It could not be read.
    Unreadable,
}

/// The facts known so far, by address.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    known: BTreeMap<Address, Known>,
}

/// A value with its references replaced, and the resources that could not be read.
pub(crate) struct Resolved {
    /// The value; references to what is not known yet stay.
    pub value: Value,
    /// Resources that could not be read.
    pub unreadable: Vec<Address>,
}

impl Resolver {
    pub fn insert(&mut self, address: Address, known: Known) {
        self.known.insert(address, known);
    }

    /// Replaces every reference whose value is known.
    pub fn resolve(&self, value: &Value) -> Resolved {
        let mut unreadable = Vec::new();
        let value = resolve_known(value, &mut |reference| match self.known.get(&reference.address) {
            Some(Known::Stays { identity, attributes, unknown }) => {
                if reference.is_identity() {
                    return Some(Value::from(identity.as_str()));
                }
                if unknown.iter().any(|path| reference.path.starts_with(path)) {
                    return None;
                }
                attributes.at(&reference.path).filter(|value| !value.is_null()).cloned()
            }
            Some(Known::Comes { attributes }) => {
                attributes.at(&reference.path).filter(|value| !value.is_null() && value.is_known()).cloned()
            }
            Some(Known::Unreadable) => {
                unreadable.push(reference.address.clone());
                None
            }
            None => None,
        });
        Resolved { value, unreadable }
    }
}

/// Replaces references that `lookup` knows; a template becomes text once all its parts are known.
#[must_use]
pub fn resolve_known(value: &Value, lookup: &mut impl FnMut(&Reference) -> Option<Value>) -> Value {
    match value {
        Value::Reference(reference) => lookup(reference).unwrap_or_else(|| value.clone()),
        Value::Template(_) => {
            let resolved = value.resolve(&mut |reference| lookup(reference).unwrap_or(Value::Unknown));
            if resolved == Value::Unknown { value.clone() } else { resolved }
        }
        Value::List(items) => Value::List(items.iter().map(|item| resolve_known(item, lookup)).collect()),
        Value::Map(entries) => Value::Map(
            entries.iter().map(|(key, value)| (key.clone(), resolve_known(value, lookup))).collect(),
        ),
        other => other.clone(),
    }
}

/// Puts references back where a provider answered with unknown.
pub(crate) fn restore_references(normalised: &mut Value, desired: &Value) {
    match (normalised, desired) {
        (place @ Value::Unknown, Value::Reference(_) | Value::Template(_)) => *place = desired.clone(),
        (Value::Map(normalised), Value::Map(desired)) => {
            for (key, value) in normalised {
                if let Some(desired) = desired.get(key) {
                    restore_references(value, desired);
                }
            }
        }
        (Value::List(normalised), Value::List(desired)) if normalised.len() == desired.len() => {
            for (value, desired) in normalised.iter_mut().zip(desired) {
                restore_references(value, desired);
            }
        }
        _ => {}
    }
}
