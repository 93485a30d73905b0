//! The precondition of a step: the state of a live object that the step requires.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::{Attribute, Digest, Mode, ResourceType, Value};

use crate::decide::{fields_of, sensitive_paths};

/// The plan's assumption about an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Precondition {
    /// Nothing: the step touches the state only.
    #[default]
    None,
    /// There is no object of that address, or only one that this run made.
    AbsentOrOurs,
    /// Each managed field has the digest that it had when it was read.
    Unchanged {
        /// The fields, with the digests of their values.
        fields: BTreeMap<String, Digest>,
    },
}

/// Whether a digest of an attribute may be kept. What is never shown could be guessed from one, and what never comes back
/// is compared with nothing.
#[must_use]
pub fn may_be_digested(attribute: &Attribute) -> bool {
    let shows_all = |fields| sensitive_paths(fields).is_empty();
    !attribute.write_only && !attribute.sensitive && fields_of(&attribute.kind).is_none_or(shows_all)
}

impl Precondition {
    /// The precondition that an object's managed fields stay as they are: those that the spec sets or has set.
    #[must_use]
    pub fn unchanged(kind: &ResourceType, observed: &Value, applied: &[&Value]) -> Self {
        let managed = kind.attributes.iter().filter(|(name, attribute)| {
            attribute.mode != Mode::Computed
                && may_be_digested(attribute)
                && applied.iter().any(|applied| applied.get(name).is_some_and(|value| !value.is_null()))
        });
        Self::Unchanged { fields: digests(managed.map(|(name, _)| name), observed) }
    }

    /// The same precondition for the object as it is after a step of the run's own.
    #[must_use]
    pub fn carried_forward(&self, observed: &Value) -> Self {
        match self {
            Self::Unchanged { fields } => Self::Unchanged { fields: digests(fields.keys(), observed) },
            other => other.clone(),
        }
    }

    /// Whether it holds of an object with these attributes.
    #[must_use]
    pub fn holds(&self, observed: &Value) -> bool {
        match self {
            Self::None => true,
            Self::AbsentOrOurs => false,
            Self::Unchanged { .. } => self.changed_fields(observed).is_empty(),
        }
    }

    /// The managed fields that are not as they were, sorted.
    #[must_use]
    pub fn changed_fields(&self, observed: &Value) -> Vec<String> {
        let Self::Unchanged { fields } = self else { return Vec::new() };
        let now = digests(fields.keys(), observed);
        fields
            .iter()
            .filter(|(name, digest)| now.get(*name) != Some(digest))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// The digest of each field's value. Values always serialise, so there is no failure to report; sets are
/// compared as they were read, a provider returns them in a fixed order.
fn digests<'a>(fields: impl Iterator<Item = &'a String>, observed: &Value) -> BTreeMap<String, Digest> {
    fields
        .map(|field| {
            let value = observed.get(field).unwrap_or(&Value::Null);
            (field.clone(), Digest::of(value).unwrap_or_else(|_| Digest::of_bytes(b"")))
        })
        .collect()
}
