//! Puts a [`ResourceType`] together.

use slipway_resource::schema::{Durations, Irreplaceable, Operation, OwnershipKind, RemovedWith};
use slipway_resource::{Attribute, Form, ResourceType, Type};

pub(super) use slipway_resource::Type::{Bool as BOOL, Integer as INTEGER, String as TEXT};

/// A type under its name.
pub(super) type Named = (&'static str, ResourceType);

/// A type that is being described.
pub(super) struct Builder {
    name: &'static str,
    resource: ResourceType,
}

impl Builder {
    /// A type with `id`, found again by its tags, whose create call has no client token and takes one second.
    pub(super) fn new(name: &'static str, rate_class: &str, description: &str) -> Self {
        Self {
            name,
            resource: ResourceType {
                idempotent_create: false,
                durations: Durations { create_ms: 1_000, update_ms: 1_000, delete_ms: 1_000 },
                ..ResourceType::new(description, OwnershipKind::Tags, rate_class)
            },
        }
        .id("The id that AWS has given it.")
    }

    /// The description of `id`, if AWS assigns none.
    pub(super) fn id(self, description: &str) -> Self {
        self.computed("id", TEXT, description)
    }

    /// The type has an ARN.
    pub(super) fn arn(self) -> Self {
        self.computed("arn", TEXT, "Its Amazon Resource Name.")
    }

    /// The type has tags.
    pub(super) fn tags(self) -> Self {
        self.optional("tags", Type::map(TEXT), "Tags, without those that say whose it is.")
    }

    /// Objects are found again by another property than tags.
    pub(super) fn owned_by(mut self, ownership: OwnershipKind) -> Self {
        self.resource.ownership = ownership;
        self
    }

    /// The create takes an idempotency token, or a name that cannot be there twice.
    pub(super) fn idempotent(mut self) -> Self {
        self.resource.idempotent_create = true;
        self
    }

    /// AWS cannot list it by a tag.
    pub(super) fn read_by_identity(mut self) -> Self {
        self.resource.read_by_identity = true;
        self
    }

    /// Losing it loses data.
    pub(super) fn stateful(mut self) -> Self {
        self.resource.stateful = true;
        self.resource.irreplaceable = Some(Irreplaceable::default());
        self
    }

    /// A replacement is created before the old object is deleted.
    pub(super) fn create_before_delete(mut self) -> Self {
        self.resource.create_before_delete = true;
        self
    }

    /// The id by which Terraform imports it, where that is not the id.
    pub(super) fn imported_as(mut self, form: &str) -> Self {
        form.clone_into(&mut self.resource.import_id);
        self
    }

    /// Attributes whose values must be unique.
    pub(super) fn exclusive<const N: usize>(mut self, names: [&str; N]) -> Self {
        self.resource.exclusive = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// AWS deletes the object with another one, which an attribute names.
    pub(super) fn removed_with(mut self, kind: &str, attribute: &str) -> Self {
        self.resource.removed_with = Some(RemovedWith {
            kind: kind.to_owned(),
            attribute: attribute.to_owned(),
            unless: Vec::new(),
            lets_go: false,
        });
        self
    }

    /// Except for an object with this attribute, which also blocks the deletion of another object.
    pub(super) fn unless(mut self, name: &str) -> Self {
        self.resource.removed_with.iter_mut().for_each(|with| with.unless.push(name.to_owned()));
        self
    }

    /// Other objects that it refers to may be deleted before it.
    pub(super) fn lets_go(mut self) -> Self {
        self.resource.removed_with.iter_mut().for_each(|with| with.lets_go = true);
        self
    }

    /// Typical milliseconds of a create, an update and a delete.
    pub(super) fn takes(mut self, create_ms: u64, update_ms: u64, delete_ms: u64) -> Self {
        self.resource.durations = Durations { create_ms, update_ms, delete_ms };
        self
    }

    /// A gate.
    pub(super) fn operation(
        mut self,
        name: &str,
        duration_ms: u64,
        read_only: bool,
        description: &str,
    ) -> Self {
        let operation = Operation { description: description.to_owned(), duration_ms, read_only };
        self.resource.operations.insert(name.to_owned(), operation);
        self
    }

    /// An attribute.
    pub(super) fn attribute(mut self, name: &str, attribute: Attribute, description: &str) -> Self {
        self.resource.attributes.insert(name.to_owned(), attribute.describe(description));
        self
    }

    /// The forms in which texts of some attributes come back.
    pub(super) fn forms(mut self, names: &[&str], forms: &[Form]) -> Self {
        for name in names {
            if let Some(attribute) = self.resource.attributes.get_mut(*name) {
                attribute.forms = forms.to_vec();
            }
        }
        self
    }

    /// An attribute that is always set and never changes.
    pub(super) fn fixed(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::required(kind).immutable(), description)
    }

    /// An attribute that may be set and never changes.
    pub(super) fn optional_fixed(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::optional(kind).immutable(), description)
    }

    /// An attribute that is always set.
    pub(super) fn required(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::required(kind), description)
    }

    /// An attribute that may be set.
    pub(super) fn optional(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::optional(kind), description)
    }

    /// An attribute that may be set, or else AWS decides.
    pub(super) fn optional_computed(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::optional_computed(kind), description)
    }

    /// An attribute that AWS sets.
    pub(super) fn computed(self, name: &str, kind: Type, description: &str) -> Self {
        self.attribute(name, Attribute::computed(kind), description)
    }

    /// A yes or no with a default.
    pub(super) fn switch(self, name: &str, default: bool, description: &str) -> Self {
        self.attribute(name, Attribute::optional(BOOL).default_to(default), description)
    }

    /// A whole number with a default.
    pub(super) fn number(self, name: &str, default: i64, description: &str) -> Self {
        self.attribute(name, Attribute::optional(INTEGER).default_to(default), description)
    }

    /// A text with a default.
    pub(super) fn text(self, name: &str, default: &str, description: &str) -> Self {
        self.attribute(name, Attribute::optional(TEXT).default_to(default), description)
    }

    /// The finished type.
    pub(super) fn build(self) -> Named {
        (self.name, self.resource)
    }
}

/// A set of texts.
pub(super) fn texts() -> Type {
    Type::set(TEXT)
}

/// Blocks: objects in a list, as Terraform writes nested blocks.
pub(super) fn blocks<const N: usize>(fields: [(&str, Attribute); N]) -> Type {
    Type::list(Type::object(fields))
}

/// A field of a block that is always set.
pub(super) fn must<'a>(name: &'a str, kind: Type, description: &str) -> (&'a str, Attribute) {
    (name, Attribute::required(kind).describe(description))
}

/// A field of a block that may be set.
pub(super) fn may<'a>(name: &'a str, kind: Type, description: &str) -> (&'a str, Attribute) {
    (name, Attribute::optional(kind).describe(description))
}

/// The same field, for whose text AWS may use another form.
pub(super) fn formed(
    (name, attribute): (&str, Attribute),
    forms: impl IntoIterator<Item = Form>,
) -> (&str, Attribute) {
    (name, attribute.forms(forms))
}

/// The same field, for whose value AWS may use its own form.
pub(super) fn own_form((name, attribute): (&str, Attribute)) -> (&str, Attribute) {
    (name, attribute.own_form())
}

/// An optional field of a block; if it is not set, AWS decides.
pub(super) fn may_compute<'a>(name: &'a str, kind: Type, description: &str) -> (&'a str, Attribute) {
    (name, Attribute::optional_computed(kind).describe(description))
}

/// A field of a block with a default.
pub(super) fn default<'a>(
    name: &'a str,
    kind: Type,
    default: impl Into<slipway_resource::Value>,
    description: &str,
) -> (&'a str, Attribute) {
    (name, Attribute::optional(kind).default_to(default).describe(description))
}
