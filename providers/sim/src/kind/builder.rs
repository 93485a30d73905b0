//! Puts a [`Kind`] together.

use slipway_resource::schema::{Durations, Irreplaceable, Operation, OwnershipKind};
use slipway_resource::{Attribute, Entries, Form, ProviderError, ResourceType, Type};

use super::{Assigned, Candidate, Kind, Link, OnDelete};
use crate::cloud::World;

impl Kind {
    /// A type with `id`, `arn` and `tags`, found again by its tags, that takes a second to create.
    pub(super) fn new(name: &'static str, prefix: &'static str, description: &str) -> Self {
        let kind = Self {
            name,
            prefix,
            resource: ResourceType {
                durations: Durations { create_ms: 1_000, update_ms: 1_000, delete_ms: 1_000 },
                ..ResourceType::new(description, OwnershipKind::Tags, "network")
            },
            links: Vec::new(),
            write_only: Vec::new(),
            unique: &[],
            quota: 1_000,
            normalise: |_| {},
            assign: |_, _| {},
            check: |_, _| Ok(()),
        };
        kind.attribute("id", Attribute::computed(Type::String), "The identity.")
            .attribute("arn", Attribute::computed(Type::String), "The global name.")
            .attribute("tags", Attribute::optional(Type::map(Type::String)), "Free tags.")
    }

    pub(super) fn attribute(mut self, name: &str, attribute: Attribute, description: &str) -> Self {
        self.resource.attributes.insert(name.to_owned(), attribute.describe(description));
        self
    }

    /// Says that reads never show an attribute.
    pub(super) fn hidden(mut self, name: &'static str) -> Self {
        self.write_only.push(name);
        self
    }

    /// A required attribute that never changes and holds the identity of another object.
    pub(super) fn link(
        self,
        name: &'static str,
        target: &'static str,
        on_delete: OnDelete,
        description: &str,
    ) -> Self {
        let attribute = Attribute::required(Type::String).immutable();
        self.attribute(name, attribute, description).linked(name, target, on_delete)
    }

    /// An attribute that holds a set of identities.
    pub(super) fn links(
        self,
        name: &'static str,
        target: &'static str,
        on_delete: OnDelete,
        description: &str,
    ) -> Self {
        self.attribute(name, Attribute::optional(Type::set(Type::String)), description)
            .linked(name, target, on_delete)
    }

    /// Says that an attribute holds identities.
    pub(super) fn linked(
        mut self,
        attribute: &'static str,
        target: &'static str,
        on_delete: OnDelete,
    ) -> Self {
        if let Some(declared) = self.resource.attributes.get_mut(attribute) {
            declared.holds |= on_delete == OnDelete::Refuse;
        }
        self.links.push(Link { attribute, target, on_delete });
        self
    }

    pub(super) fn untagged(mut self, ownership: OwnershipKind) -> Self {
        self.resource.attributes.remove("tags");
        self.resource.ownership = ownership;
        self
    }

    /// Seconds of a create, an update and a delete.
    pub(super) fn takes(mut self, create: u64, update: u64, delete: u64) -> Self {
        self.resource.durations =
            Durations { create_ms: create * 1_000, update_ms: update * 1_000, delete_ms: delete * 1_000 };
        self
    }

    pub(super) fn rate_class(mut self, name: &str) -> Self {
        name.clone_into(&mut self.resource.rate_class);
        self
    }

    pub(super) fn stateful(mut self) -> Self {
        self.resource.stateful = true;
        self.resource.irreplaceable = Some(Irreplaceable::default());
        self
    }

    pub(super) fn create_before_delete(mut self) -> Self {
        self.resource.create_before_delete = true;
        self
    }

    pub(super) fn operation(mut self, name: &str, duration_ms: u64, read_only: bool, text: &str) -> Self {
        self.resource
            .operations
            .insert(name.to_owned(), Operation { description: text.to_owned(), duration_ms, read_only });
        self
    }

    pub(super) fn unique(mut self, attributes: &'static [&'static str]) -> Self {
        self.unique = attributes;
        self.exclusive(attributes)
    }

    /// Attributes by which the planner recognises an object under another address: the unique ones that refer
    /// to no other object.
    pub(super) fn exclusive(mut self, attributes: &[&str]) -> Self {
        self.resource.exclusive = attributes.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub(super) fn quota(mut self, quota: u64) -> Self {
        self.quota = quota;
        self
    }

    /// The forms in which texts of some attributes come back.
    pub(super) fn forms(mut self, names: &[&str], form: &Form) -> Self {
        for name in names {
            if let Some(attribute) = self.resource.attributes.get_mut(*name) {
                attribute.forms.push(form.clone());
            }
        }
        self
    }

    pub(super) fn normalise(mut self, normalise: fn(&mut Entries)) -> Self {
        self.normalise = normalise;
        self
    }

    pub(super) fn assign(mut self, assign: fn(&Assigned<'_>, &mut Entries)) -> Self {
        self.assign = assign;
        self
    }

    pub(super) fn check(mut self, check: fn(&World, &Candidate<'_>) -> Result<(), ProviderError>) -> Self {
        self.check = check;
        self
    }
}
