//! Collects resources.

use std::collections::BTreeMap;

use slipway_cluster_input::{ClusterInput, NodePool};
use slipway_resource::provider::{ExpandNote, Expansion};
use slipway_resource::{Address, Desired, Path, Value};

use crate::catalog::Catalog;
use crate::names;
use crate::settings::{ClusterSettings, PoolSettings};
use crate::tags::{self, Tags};

/// The input of all parts of an expansion, and the list of its resources.
pub(crate) struct Builder<'a> {
    pub(crate) cluster: &'a ClusterInput,
    pub(crate) catalog: &'a Catalog,
    pub(crate) settings: &'a ClusterSettings,
    pub(crate) pool_settings: BTreeMap<&'a str, PoolSettings>,
    resources: BTreeMap<Address, Desired>,
    notes: Vec<ExpandNote>,
}

/// A resource that is being put together.
pub(crate) struct Draft {
    desired: Desired,
    attributes: BTreeMap<String, Value>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        cluster: &'a ClusterInput,
        catalog: &'a Catalog,
        settings: &'a ClusterSettings,
    ) -> Self {
        Self {
            cluster,
            catalog,
            settings,
            pool_settings: BTreeMap::new(),
            resources: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// The provider's own settings of a pool.
    pub(crate) fn pool_settings(&self, pool: &NodePool) -> PoolSettings {
        self.pool_settings.get(pool.name.as_str()).cloned().unwrap_or_default()
    }

    /// A name with the cluster's behind it, as in `masters.production.example.com`.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{name}.{}", self.cluster.name)
    }

    /// A resource of this type that comes from this field of the spec; `name` is what its address is made of.
    pub(crate) fn draft(&self, kind: &str, name: &str, origin: impl Into<String>) -> Draft {
        let mut desired = Desired::new(address(kind, name), Value::Null);
        desired.origins.insert(Path::root(), origin.into());
        Draft { desired, attributes: BTreeMap::new() }
    }

    /// The tags of a resource with this name.
    pub(crate) fn tags(&self, name: &str) -> Tags {
        tags::owned(self.cluster, name)
    }

    /// Adds a resource; returns its address. An earlier one with the same address is replaced.
    pub(crate) fn add(&mut self, draft: Draft) -> Address {
        let Draft { mut desired, attributes } = draft;
        desired.attributes = Value::map(attributes);
        desired.depends_on.sort();
        desired.depends_on.dedup();
        let address = desired.address.clone();
        self.resources.insert(address.clone(), desired);
        address
    }

    /// Takes a resource of another provider, which has its own attributes.
    pub(crate) fn add_other(&mut self, desired: Desired) {
        self.resources.insert(desired.address.clone(), desired);
    }

    /// Lets a resource depend on others.
    pub(crate) fn depend(&mut self, address: &Address, on: &[Address]) {
        if let Some(desired) = self.resources.get_mut(address) {
            desired.depends_on.extend(on.iter().cloned());
            desired.depends_on.sort();
            desired.depends_on.dedup();
        }
    }

    /// Whether there is such a resource.
    pub(crate) fn has(&self, address: &Address) -> bool {
        self.resources.contains_key(address)
    }

    /// The addresses of all resources of some types.
    pub(crate) fn addresses_of(&self, kinds: &[&str]) -> Vec<Address> {
        self.resources.keys().filter(|address| kinds.contains(&address.kind())).cloned().collect()
    }

    /// Says something about a field of the spec.
    pub(crate) fn note(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.notes.push(ExpandNote { field: field.into(), message: message.into() });
    }

    /// All resources.
    pub(super) fn finish(self) -> Expansion {
        Expansion { resources: self.resources.into_values().collect(), notes: self.notes }
    }
}

impl Draft {
    /// Sets an attribute, and says from which field of the spec it comes. Nothing is set for null.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Value>, origin: impl Into<String>) -> Self {
        self.desired.origins.insert(Path::key(name), origin.into());
        self.attributes.insert(name.to_owned(), value.into());
        self
    }

    /// Sets an attribute that no field of the spec decides.
    pub(crate) fn fix(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the tags.
    pub(crate) fn tags(mut self, tags: Tags) -> Self {
        self.desired.origins.insert(Path::key("tags"), "cloudLabels".to_owned());
        self.attributes.insert("tags".to_owned(), tags.into());
        self
    }

    /// Adds resources that must exist before it, beside those that it refers to.
    pub(crate) fn after(mut self, addresses: impl IntoIterator<Item = Address>) -> Self {
        self.desired.depends_on.extend(addresses);
        self
    }

    /// Marks a resource whose loss is a loss of data, and needs a confirmation by name.
    pub(crate) fn protected(mut self) -> Self {
        self.desired.lifecycle.protected = true;
        self
    }
}

/// The address of the resource of this type with this name.
pub(crate) fn address(kind: &str, name: &str) -> Address {
    Address::new(kind, names::address(name))
}

/// A reference to another resource's identity.
pub(crate) fn id_of(address: &Address) -> Value {
    Value::reference(address.clone(), "id")
}
