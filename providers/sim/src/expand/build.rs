//! Collects resources.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use slipway_cluster_input::ClusterInput;
use slipway_resource::provider::{ExpandNote, Expansion};
use slipway_resource::{Address, Desired, Identity, Lifecycle, Path, ProviderError, Value, pattern};

use super::{address, refuse};
use crate::kind;

/// Collects the resources of one cluster.
pub(super) struct Builder<'a> {
    pub(super) cluster: &'a ClusterInput,
    pub(super) catalog: &'a serde_json::Value,
    resources: BTreeMap<Address, Desired>,
    /// The types and attributes of the resources that were added once.
    once: BTreeSet<String>,
    notes: Vec<ExpandNote>,
}

/// A resource that is being put together.
pub(super) struct Draft {
    desired: Desired,
    attributes: BTreeMap<String, Value>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(cluster: &'a ClusterInput, catalog: &'a serde_json::Value) -> Self {
        Self { cluster, catalog, resources: BTreeMap::new(), once: BTreeSet::new(), notes: Vec::new() }
    }

    /// A resource of this type and name that comes from this field of the spec.
    pub(super) fn draft(&self, kind: &str, name: &str, origin: impl Into<String>) -> Draft {
        let mut desired = Desired::new(address(kind, name), Value::Null);
        desired.origins.insert(Path::root(), origin.into());
        let mut draft = Draft { desired, attributes: BTreeMap::new() };
        let known = kind::all().get(kind);
        if known.is_some_and(|kind| kind.resource.attributes.contains_key("tags")) {
            draft = draft.set("tags", self.cluster.cloud_labels.clone(), "cloudLabels");
        }
        draft.desired.lifecycle.protected = known.is_some_and(|kind| kind.resource.stateful);
        draft
    }

    /// Takes a resource; returns its address.
    pub(super) fn add(&mut self, draft: Draft) -> Address {
        let Draft { mut desired, attributes } = draft;
        desired.attributes = Value::map(attributes);
        let address = desired.address.clone();
        self.resources.insert(address.clone(), desired);
        address
    }

    /// Takes a resource unless another of its type, taken by this function too, has the same attributes of these names.
    pub(super) fn add_once(&mut self, draft: Draft, names: &[&str]) {
        let pairs = names.iter().filter_map(|name| Some((*name, draft.attributes.get(*name)?.to_json())));
        let attributes: serde_json::Map<String, serde_json::Value> =
            pairs.map(|(name, value)| (name.to_owned(), value)).collect();
        let key = format!("{} {}", draft.desired.address.kind(), serde_json::Value::Object(attributes));
        if self.once.insert(key) {
            self.add(draft);
        }
    }

    /// Whether there is such a resource.
    pub(super) fn has(&self, address: &Address) -> bool {
        self.resources.contains_key(address)
    }

    pub(super) fn note(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.notes.push(ExpandNote { field: field.into(), message: message.into() });
    }

    /// All resources, with what the spec says of single ones.
    pub(super) fn finish(mut self) -> Result<Expansion, ProviderError> {
        for moved in &self.cluster.moved {
            let parse =
                |text: &str| text.parse::<Address>().map_err(|error| refuse("moved", &error.to_string()));
            let (from, to) = (parse(&moved.from)?, parse(&moved.to)?);
            match self.resources.get_mut(&to) {
                Some(resource) => resource.lifecycle.moved_from.push(from),
                None => {
                    let message = format!("there is no {to} to which {from} could have moved");
                    self.notes.push(ExpandNote { field: "moved".into(), message });
                }
            }
        }
        for ignored in &self.cluster.ignore_changes {
            let path = match ignored.attribute.as_str() {
                "*" => Path::root(),
                text => text.parse().map_err(|error: slipway_resource::path::PathError| {
                    refuse("ignoreChanges", &error.to_string())
                })?,
            };
            let mut hits = 0;
            for (address, resource) in &mut self.resources {
                if pattern::matches(&ignored.resource, &address.to_string()) {
                    resource.lifecycle.ignore_changes.push(path.clone());
                    hits += 1;
                }
            }
            if hits == 0 {
                let message = format!("no resource matches {}", ignored.resource);
                self.notes.push(ExpandNote { field: "ignoreChanges".into(), message });
            }
        }
        Ok(Expansion { resources: self.resources.into_values().collect(), notes: self.notes })
    }
}

impl Draft {
    /// Sets an attribute, and says from which field of the spec it comes. Nothing is set for null.
    pub(super) fn set(mut self, name: &str, value: impl Into<Value>, origin: impl Into<String>) -> Self {
        self.desired.origins.insert(Path::key(name), origin.into());
        self.attributes.insert(name.to_owned(), value.into());
        self
    }

    /// Sets an attribute that no field of the spec decides.
    pub(super) fn fix(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn after(mut self, addresses: impl IntoIterator<Item = Address>) -> Self {
        self.desired.depends_on.extend(addresses);
        self.desired.depends_on.sort();
        self.desired.depends_on.dedup();
        self
    }

    pub(super) fn existing(mut self, id: &str) -> Self {
        self.desired.lifecycle =
            Lifecycle { existing: Some(Identity::new(id)), protected: false, ..self.desired.lifecycle };
        self
    }

    pub(super) fn protected(mut self, protected: bool) -> Self {
        self.desired.lifecycle.protected |= protected;
        self
    }

    pub(super) fn retain(mut self, retain: bool) -> Self {
        self.desired.lifecycle.retain = retain;
        self
    }
}

/// A reference to another resource's identity.
pub(super) fn id_of(address: &Address) -> Value {
    Value::reference(address.clone(), "id")
}

/// The plain value of something that has JSON; nothing for what has none.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).map_or(Value::Null, |json| Value::from_json(&json))
}

/// The text of an enum's JSON form, as documents have it.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Milliseconds of a duration of the spec.
pub(super) fn millis(duration: slipway_cluster_input::value::Duration) -> Value {
    Value::Integer(i64::try_from(duration.get().as_millis()).unwrap_or(i64::MAX))
}
