//! The objects that the session knows to exist: those that it has created, and those that it has read. AWS
//! may deny a new object for a while; a call that names such an object is sent again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use slipway_resource::{ErrorClass, Identity, ProviderError, Value};
use tokio::time::Instant;

use crate::kind::Found;

/// Attributes by which others refer to an object, beside its identity.
const NAMES: [&str; 3] = ["id", "arn", "name"];

/// The objects that the session knows to exist, by what others call them.
#[derive(Default)]
pub(crate) struct Known {
    objects: Mutex<HashMap<String, Object>>,
}

/// A known object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Its type.
    pub kind: &'static str,
    /// The identity of the object.
    pub identity: Identity,
    /// When the session made it; none for what was there.
    pub made: Option<Instant>,
}

impl Known {
    /// Takes an object that was read. One that is new stays so.
    pub fn seen(&self, kind: &'static str, found: &Found) {
        self.insert(kind, &found.identity, &found.attributes, None);
    }

    /// Takes an object that the session has just made.
    pub fn made(&self, kind: &'static str, identity: &Identity, desired: &Value) {
        self.insert(kind, identity, desired, Some(Instant::now()));
    }

    /// Forgets a deleted object.
    pub fn gone(&self, identity: &Identity) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.retain(|_, object| object.identity != *identity);
    }

    fn insert(&self, kind: &'static str, identity: &Identity, attributes: &Value, made: Option<Instant>) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let names = NAMES.iter().filter_map(|name| attributes.get(name).and_then(Value::as_str));
        for name in names.chain([identity.as_str()]).filter(|name| !name.is_empty()) {
            let object = objects.entry(name.to_owned()).or_insert_with(|| Object {
                kind,
                identity: identity.clone(),
                made: None,
            });
            object.made = made.or(object.made);
        }
    }

    /// The objects of a type, sorted.
    pub fn of_kind(&self, kind: &str) -> Vec<Identity> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = objects.values().filter(|object| object.kind == kind);
        let mut found: Vec<Identity> = of_kind.map(|object| object.identity.clone()).collect();
        found.sort();
        found.dedup();
        found
    }

    /// The objects that a text of some attributes names.
    pub fn named_by(&self, attributes: &Value) -> Vec<Object> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Object> = Vec::new();
        each_text(attributes, &mut |text| {
            if let Some(object) = objects.get(text)
                && found.iter().all(|known| known.identity != object.identity)
            {
                found.push(object.clone());
            }
        });
        found
    }
}

fn each_text(value: &Value, act: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => act(text),
        Value::List(items) => items.iter().for_each(|item| each_text(item, act)),
        Value::Map(entries) => entries.values().for_each(|item| each_text(item, act)),
        _ => {}
    }
}

/// Whether a failure may come from an object that AWS does not show everywhere yet. Some services have no code of their own
/// for that.
pub(crate) fn may_be_late(kind: &str, error: &ProviderError) -> bool {
    let one_code_for_all =
        kind.starts_with("aws_autoscaling_") || kind.starts_with("aws_iam_") || kind.starts_with("aws_lb");
    match error.class {
        ErrorClass::NotFound => true,
        ErrorClass::Invalid => one_code_for_all,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_known_by_each_of_its_names() {
        let known = Known::default();
        let role = Value::map([("name", "nodes"), ("arn", "arn:aws:iam::1:role/nodes")]);
        known.made("aws_iam_role", &Identity::new("nodes"), &role);
        let policy = Value::map([("role", "nodes"), ("policy", "{}")]);
        assert!(known.named_by(&policy).iter().all(|object| object.made.is_some()));
        assert_eq!(known.named_by(&policy).len(), 1);
        assert_eq!(known.of_kind("aws_iam_role"), [Identity::new("nodes")]);
        assert!(known.named_by(&Value::map([("role", "masters")])).is_empty());
        known.gone(&Identity::new("nodes"));
        assert!(known.named_by(&policy).is_empty());
    }
}
