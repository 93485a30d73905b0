//! The resource types of the simulated cloud: their attributes and rules.

mod balance;
mod builder;
mod identity;
mod machine;
mod name;
mod network;
mod normal;
mod object;
mod security;
mod storage;
mod workload;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use slipway_resource::{Entries, Mode, ProviderError, ResourceType, Value};

use crate::cloud::World;

pub(crate) use machine::{
    EVICTION_MS, MACHINE_POOL, NODE, POOL_MS, SNAPSHOT, TEMPLATE, drain_ms, operation_ms,
};
pub(crate) use storage::refuse_shrinking;
pub(crate) use workload::WORKLOAD;

/// A resource type.
pub(crate) struct Kind {
    /// Its name.
    pub(crate) name: &'static str,
    /// The start of identities.
    pub(crate) prefix: &'static str,
    /// Its schema.
    pub(crate) resource: ResourceType,
    /// Attributes that hold identities of other objects.
    pub(crate) links: Vec<Link>,
    /// Attributes that reads never show.
    pub(crate) write_only: Vec<&'static str>,
    /// Attributes that no two objects may have alike.
    pub(crate) unique: &'static [&'static str],
    /// How many an account may have.
    pub(crate) quota: u64,
    /// Converts desired attributes into the cloud's form.
    pub(crate) normalise: fn(&mut Entries),
    /// Sets the attributes that the cloud decides when an object is created.
    pub(crate) assign: fn(&Assigned<'_>, &mut Entries),
    /// Refuses an invalid object, given all other objects.
    pub(crate) check: fn(&World, &Candidate<'_>) -> Result<(), ProviderError>,
}

/// An attribute that holds the identity of another object, or a list of such.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// The attribute.
    pub(crate) attribute: &'static str,
    /// The type of the other object; empty for any.
    pub(crate) target: &'static str,
    /// The effect when the other object is deleted.
    pub(crate) on_delete: OnDelete,
}

/// The effect of the deletion of an object on one that refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDelete {
    /// The deletion is refused.
    Refuse,
    /// The referring object is deleted, too.
    Follow,
    /// The referring object is not affected.
    Nothing,
}

/// The identity of a new object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned<'a> {
    /// The number in the identity.
    pub(crate) serial: u64,
    /// The account.
    pub(crate) account: &'a str,
}

/// An object before it is created or changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    /// Its identity, once it exists.
    pub(crate) id: Option<&'a str>,
    /// Its attributes as they would be.
    pub(crate) attributes: &'a Value,
    /// Its attributes as they are, once it exists.
    pub(crate) before: Option<&'a Value>,
}

impl Candidate<'_> {
    /// The text of an attribute; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.attributes.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// All resource types by name.
pub(crate) fn all() -> &'static BTreeMap<&'static str, Kind> {
    static KINDS: OnceLock<BTreeMap<&'static str, Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        [
            network::kinds(),
            security::kinds(),
            balance::kinds(),
            name::kinds(),
            identity::kinds(),
            storage::kinds(),
            machine::kinds(),
            workload::kinds(),
            object::kinds(),
        ]
        .into_iter()
        .flatten()
        .map(|kind| (kind.name, kind))
        .collect()
    })
}

impl Kind {
    /// The desired attributes in the cloud's form: defaults filled in, texts normalised. Unknown values stay.
    pub(crate) fn normalised(&self, desired: &Value) -> Entries {
        let mut attributes = desired.as_map().cloned().unwrap_or_default();
        if attributes.values().any(Value::is_null) {
            attributes.retain(|_, value| !value.is_null());
        }
        for (name, attribute) in &self.resource.attributes {
            if !attribute.default.is_null() && !attributes.contains_key(name) {
                attributes.insert(name.clone(), attribute.default.clone());
            }
        }
        (self.normalise)(&mut attributes);
        attributes
    }

    /// Desired attributes without those that only the server sets; the normalised attributes of a plan have
    /// them.
    pub(crate) fn without_computed(&self, desired: &Value) -> Value {
        let computed = |name: &str| {
            self.resource.attributes.get(name).is_some_and(|attribute| attribute.mode == Mode::Computed)
        };
        match desired {
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .filter(|(name, _)| !computed(name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// The attributes that make an object unique among its type, as one text.
    pub(crate) fn unique_key(&self, attributes: &Value) -> Option<String> {
        if self.unique.is_empty() {
            return None;
        }
        let mut key = String::from(self.name);
        for name in self.unique {
            key.push('\u{1f}');
            if let Some(value) = attributes.get(name) {
                key.push_str(&value.to_plain_text());
            }
        }
        Some(key)
    }

    /// The identities that an object refers to.
    pub(crate) fn targets<'a>(
        &'a self,
        attributes: &'a Value,
    ) -> impl Iterator<Item = (&'a Link, &'a str)> + 'a {
        self.links.iter().flat_map(move |link| {
            let (one, many) = match attributes.get(link.attribute) {
                Some(Value::String(id)) => (Some(id.as_str()), &[][..]),
                Some(Value::List(items)) => (None, items.as_slice()),
                _ => (None, &[][..]),
            };
            one.into_iter().chain(many.iter().filter_map(Value::as_str)).map(move |id| (link, id))
        })
    }

    /// Whether the server may set an attribute.
    pub(crate) fn is_server_set(&self, name: &str) -> bool {
        self.resource
            .attributes
            .get(name)
            .is_some_and(|attribute| matches!(attribute.mode, Mode::Computed | Mode::OptionalComputed))
    }
}

/// Whether an id does not have the form of this cloud's identities. It then names an object of another owner,
/// which is assumed to exist.
pub(crate) fn is_foreign(id: &str) -> bool {
    let Some((prefix, digits)) = id.rsplit_once('-') else {
        return true;
    };
    let numbered = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    !(numbered && all().values().any(|kind| kind.prefix == prefix))
}
