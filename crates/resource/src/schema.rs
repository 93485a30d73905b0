//! The schema of a provider's resources: attributes, their types, and guarantees for the engine.

mod attribute;
mod part;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Identity, Path, ProviderError, Segment, Value};

pub use attribute::{Attribute, Mode, Names, attributes};
pub use part::{Part, Role};

/// All resource types of a provider, and the form of its configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The attributes of the provider's own configuration.
    pub config: BTreeMap<String, Attribute>,
    /// The resource types by name.
    pub types: BTreeMap<String, ResourceType>,
}

/// One resource type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceType {
    /// Version of the attributes' form. An older state is converted by `upgrade_state`.
    pub version: u32,
    /// Description in one sentence.
    pub description: String,
    /// The attributes by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// How the provider finds its objects again.
    pub ownership: OwnershipKind,
    /// The rate class that its calls count against; a name of the provider's `Info`.
    pub rate_class: String,
    /// Whether a create takes an idempotency token.
    pub idempotent_create: bool,
    /// Whether losing the object loses data: deletes and replaces then need a named confirmation.
    pub stateful: bool,
    /// The irreplaceable data of such an object, if its type has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irreplaceable: Option<Irreplaceable>,
    /// Whether a replacement is created before the old object is deleted.
    pub create_before_delete: bool,
    /// Attributes whose values no two objects of the type may share at the same time, such as a subnet's
    /// range. A new resource with the values of a deleted one is the same object under another address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<String>,
    /// The id with which other tools import such an object, as `{route_table_id}_{destination_cidr_block}`;
    /// `{a|b}` is the first that is set, `{identity}` the identity. Empty when it is the identity itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub import_id: String,
    /// The parent with which the cloud deletes such an object, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_with: Option<RemovedWith>,
    /// The parts of a cluster that objects of the type are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Whether discovery leaves out objects of the type if the unique id of the cluster is known, because the
    /// cloud cannot list them by ownership. The engine reads the recorded objects by their identities.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_by_identity: bool,
    /// Gates that the provider runs on such objects, by name.
    #[serde(default)]
    pub operations: BTreeMap<String, Operation>,
    /// Typical durations of the actions, in milliseconds, for the estimate.
    #[serde(default)]
    pub durations: Durations,
}

/// The rule of a type whose objects hold irreplaceable data: a private key, an authority, an encryption key,
/// etcd's data. A plan changes, replaces or deletes such an object only in a step that names the fingerprint
/// of the lost data, and after a confirmation by the object's address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Irreplaceable {
    /// The attribute with the public fingerprint of the object's data. An object without a value there holds
    /// nothing irreplaceable. Empty when every object of the type does: its identity is the fingerprint then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Why no plan may replace such an object, even when it is requested by name. Empty where a replacement
    /// is possible after a confirmation by name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refusal: String,
}

impl Irreplaceable {
    /// Whether every object of the type holds data that may be lost after a confirmation, as disks do.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.fingerprint.is_empty() && self.refusal.is_empty()
    }

    /// The public fingerprint of an object's data; [`Held::Nothing`] when it holds nothing irreplaceable. A
    /// fingerprint that is not known yet is [`Held::Unknown`].
    #[must_use]
    pub fn held(&self, identity: Option<&Identity>, attributes: &Value) -> Held {
        if self.fingerprint.is_empty() {
            return identity.map_or(Held::Unknown, |identity| Held::Known(identity.to_string()));
        }
        match attributes.get(&self.fingerprint) {
            None | Some(Value::Null) => Held::Nothing,
            Some(Value::String(text)) if text.is_empty() => Held::Nothing,
            Some(Value::String(text)) => Held::Known(text.clone()),
            Some(_) => Held::Unknown,
        }
    }
}

/// The data of an object of an irreplaceable type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// No irreplaceable data.
    Nothing,
    /// Data with this public fingerprint.
    Known(String),
    /// Data that is known only after apply.
    Unknown,
}

/// Deletion with a parent: the cloud deletes the object with its parent, and has done so when the deletion of
/// the parent has ended. If a plan deletes both, it makes no call for the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedWith {
    /// The parent's type.
    pub kind: String,
    /// The attribute that has the parent's identity.
    pub attribute: String,
    /// Attributes that must not be set on such an object. One that has them blocks the deletion of other
    /// objects than its parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<String>,
    /// Whether other objects that it refers to may be deleted before it.
    #[serde(default)]
    pub lets_go: bool,
}

/// How objects of a type are found again without state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnershipKind {
    /// Tags written in the creating call.
    Tags,
    /// A parent that is owned.
    Parent,
    /// A name that follows from the address.
    Name,
    /// None of these: objects are listed. Only this kind may need an operator after a crash.
    Listed,
}

/// A gate that a type declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Description in one sentence.
    pub description: String,
    /// Typical duration in milliseconds.
    pub duration_ms: u64,
    /// Whether it only waits or checks and changes nothing.
    pub read_only: bool,
}

/// Typical durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    /// Of a create.
    pub create_ms: u64,
    /// Of an update in place.
    pub update_ms: u64,
    /// Of a delete.
    pub delete_ms: u64,
}

/// The type of an attribute's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// A text.
    String,
    /// Anything.
    Any,
    /// Items whose order matters.
    List(Box<Type>),
    /// Items whose order does not matter.
    Set(Box<Type>),
    /// Values of one type by free keys.
    Map(Box<Type>),
    /// Named fields.
    Object(BTreeMap<String, Attribute>),
}

impl Schema {
    /// Checks attributes that have the current version of their type: the answer of `upgrade_state` where no
    /// type has had another version.
    ///
    /// # Errors
    /// `invalid` for another version, and for an unknown type.
    pub fn of_version(&self, kind: &str, version: u32, attributes: Value) -> Result<Value, ProviderError> {
        let text = match self.types.get(kind) {
            Some(known) if known.version == version => return Ok(attributes),
            Some(_) => format!("{kind} has no schema version {version}"),
            None => format!("{kind} is not a type of this provider"),
        };
        Err(ProviderError::new(ErrorClass::Invalid, text))
    }
}

impl ResourceType {
    /// A type of version 1 whose creates may be repeated, with defaults for everything else.
    #[must_use]
    pub fn new(description: &str, ownership: OwnershipKind, rate_class: &str) -> Self {
        Self {
            version: 1,
            description: description.to_owned(),
            attributes: BTreeMap::new(),
            ownership,
            rate_class: rate_class.to_owned(),
            idempotent_create: true,
            stateful: false,
            irreplaceable: None,
            create_before_delete: false,
            exclusive: Vec::new(),
            import_id: String::new(),
            removed_with: None,
            roles: Vec::new(),
            read_by_identity: false,
            operations: BTreeMap::new(),
            durations: Durations::default(),
        }
    }

    /// Whether the provider sets an attribute, given by a path in it, and `wanted` does not set it. A change
    /// of such an attribute was neither requested by the spec nor made outside Slipway.
    #[must_use]
    pub fn is_set_by_provider(&self, path: &Path, wanted: &Value) -> bool {
        let [Segment::Key(name), ..] = path.segments() else { return false };
        self.attributes.get(name).is_some_and(|attribute| attribute.mode == Mode::OptionalComputed)
            && wanted.get(name).is_none_or(Value::is_null)
    }

    /// Whether an attribute, by a path in it, is declared to be kept in a form that only the provider knows.
    #[must_use]
    pub fn has_own_form(&self, path: &Path) -> bool {
        let [Segment::Key(name), ..] = path.segments() else { return false };
        self.attributes.get(name).is_some_and(|attribute| attribute.own_form)
    }

    /// The part of a cluster that the named object is, if its type declares one.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<Part> {
        self.roles.iter().find(|role| role.fits(name)).map(|role| role.part)
    }

    /// Whether a path is that of a key for data, or inside one.
    #[must_use]
    pub fn is_key_material(&self, path: &Path) -> bool {
        let mut fields = Some(&self.attributes);
        for segment in path.segments() {
            let Segment::Key(name) = segment else { continue };
            let Some(attribute) = fields.and_then(|fields| fields.get(name)) else { continue };
            if attribute.key_material {
                return true;
            }
            fields = attribute.kind.fields();
        }
        false
    }

    /// The attributes of an action's result that the state keeps.
    #[must_use]
    pub fn remembered(&self, attributes: &Value) -> BTreeMap<String, Value> {
        let names = self.attributes.iter().filter(|(_, attribute)| attribute.remembered);
        names.filter_map(|(name, _)| Some((name.clone(), attributes.get(name)?.clone()))).collect()
    }
}

impl Type {
    /// The fields of an object, also of one in a collection.
    #[must_use]
    pub fn fields(&self) -> Option<&BTreeMap<String, Attribute>> {
        match self {
            Self::Object(fields) => Some(fields),
            Self::List(item) | Self::Set(item) | Self::Map(item) => item.fields(),
            _ => None,
        }
    }

    /// A list of a type.
    #[must_use]
    pub fn list(item: Type) -> Self {
        Self::List(Box::new(item))
    }

    /// A set of a type.
    #[must_use]
    pub fn set(item: Type) -> Self {
        Self::Set(Box::new(item))
    }

    /// A map to a type.
    #[must_use]
    pub fn map(item: Type) -> Self {
        Self::Map(Box::new(item))
    }

    /// An object with these fields.
    #[must_use]
    pub fn object<const N: usize>(fields: [(&str, Attribute); N]) -> Self {
        Self::Object(attributes(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_holds_what_its_fingerprint_tells() {
        let identity = Identity::new("vol-1");
        let whole = Irreplaceable::default();
        assert_eq!(whole.held(Some(&identity), &Value::Null), Held::Known("vol-1".to_owned()));
        assert_eq!(whole.held(None, &Value::Null), Held::Unknown);
        let rule = Irreplaceable { fingerprint: "print".to_owned(), ..Irreplaceable::default() };
        let held = |value: Value| rule.held(Some(&identity), &Value::map([("print", value)]));
        assert_eq!(held("sha256:1".into()), Held::Known("sha256:1".to_owned()));
        assert_eq!(held(Value::Null), Held::Nothing);
        assert_eq!(held("".into()), Held::Nothing);
        assert_eq!(held(Value::Unknown), Held::Unknown);
    }

    #[test]
    fn attributes_of_another_version_are_not_taken_for_those_of_this_one() {
        let kind = ResourceType { version: 2, ..ResourceType::new("", OwnershipKind::Tags, "any") };
        let types = BTreeMap::from([("network".to_owned(), kind)]);
        let schema = Schema { types, ..Schema::default() };
        assert_eq!(schema.of_version("network", 2, true.into()), Ok(true.into()));
        let refused = |kind, version| schema.of_version(kind, version, Value::Null).unwrap_err().message;
        assert_eq!(refused("network", 1), "network has no schema version 1");
        assert_eq!(refused("machine", 2), "machine is not a type of this provider");
    }
}
