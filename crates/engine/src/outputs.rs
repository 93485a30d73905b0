//! The outputs of a run's steps, for the steps that refer to them.

use std::collections::BTreeMap;

use slipway_resource::provider::Applied;
use slipway_resource::{Address, Identity, Reference, Value};

/// The objects of a run by address.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    made: BTreeMap<Address, Applied>,
}

impl Outputs {
    pub fn insert(&mut self, address: &Address, applied: Applied) {
        self.made.insert(address.clone(), applied);
    }

    pub fn identity(&self, address: &Address) -> Option<&Identity> {
        self.made.get(address)?.identity.as_ref()
    }

    /// A copy of a value with every reference replaced, and the references that nothing is known of.
    pub fn resolve(&self, value: &Value) -> (Value, Vec<Reference>) {
        let mut missing = Vec::new();
        let resolved = value.resolve(&mut |reference| match self.lookup(reference) {
            Some(value) => value,
            None => {
                missing.push(reference.clone());
                Value::Null
            }
        });
        (resolved, missing)
    }

    fn lookup(&self, reference: &Reference) -> Option<Value> {
        let applied = self.made.get(&reference.address)?;
        if reference.is_identity() {
            return applied.identity.as_ref().map(|identity| Value::from(identity.as_str()));
        }
        applied.attributes.at(&reference.path).filter(|value| !value.is_null()).cloned()
    }
}

/// A value without what is unknown: the server sets that.
pub(crate) fn without_unknown(value: Value) -> Value {
    match value {
        Value::Unknown => Value::Null,
        Value::Map(entries) => {
            Value::map(entries.into_iter().map(|(key, value)| (key, without_unknown(value))))
        }
        Value::List(items) => Value::List(items.into_iter().map(without_unknown).collect()),
        other => other,
    }
}
