//! References to other resources, as far as they are known when planning.

use std::collections::BTreeMap;

use slipway_resource::{Address, Identity, Path, Reference, TemplatePart, Value};

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

/// Replaces references that `lookup` knows, also in a template, which becomes text once all its parts are known. Whatever stays
/// a reference is made by the run.
#[must_use]
pub fn resolve_known(value: &Value, lookup: &mut impl FnMut(&Reference) -> Option<Value>) -> Value {
    match value {
        Value::Reference(reference) => lookup(reference).unwrap_or_else(|| value.clone()),
        Value::Template(parts) => {
            let parts = parts.iter().map(|part| match part {
                TemplatePart::Reference(reference) => match lookup(reference) {
                    Some(known) if known != Value::Unknown => TemplatePart::Text(known.to_plain_text()),
                    _ => part.clone(),
                },
                TemplatePart::Text(_) => part.clone(),
            });
            // Without references it is a text.
            let template = Value::Template(parts.collect());
            let resolved = template.resolve(&mut |_| Value::Unknown);
            if resolved == Value::Unknown { template } else { resolved }
        }
        Value::List(items) => Value::List(items.iter().map(|item| resolve_known(item, lookup)).collect()),
        Value::Map(_) if !value.has_reference() => value.clone(),
        Value::Map(entries) => Value::Map(entries.map_values(|value| resolve_known(value, lookup))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_template_is_no_reference_for_the_run() {
        let reference =
            |address: &str| Reference { address: address.parse().unwrap(), path: Path::key("pem") };
        let part = |address: &str| TemplatePart::Reference(reference(address));
        let template =
            Value::Template(vec![part("key.old"), TemplatePart::Text(" ".to_owned()), part("key.new")]);
        let mut of_old = |asked: &Reference| (*asked == reference("key.old")).then(|| Value::from("a"));
        let resolved = resolve_known(&template, &mut of_old);
        let mut left = Vec::new();
        resolved.for_each_reference(&mut |reference| left.push(reference.clone()));
        assert_eq!(left, [reference("key.new")]);
        assert_eq!(resolved.resolve(&mut |_| Value::from("b")), Value::from("a b"));
        assert_eq!(resolve_known(&template, &mut |_| Some(Value::from("c"))), Value::from("c c"));
        assert_eq!(resolve_known(&template, &mut |_| None), template);
    }
}
