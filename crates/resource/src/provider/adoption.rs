//! Finding what another tool made, to take it over.

use serde::{Deserialize, Serialize};

use crate::{Address, Identity, Reference, Value};

/// The resource to look for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocateRequest {
    /// The cluster's name, as the other tool's names and tags have it.
    pub cluster: String,
    /// The wanted resources, all of the provider's: they refer to each other.
    pub items: Vec<LocateItem>,
}

/// A wanted resource for which an object may exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocateItem {
    /// Its address.
    pub address: Address,
    /// The desired attributes; references to other items stay references.
    pub desired: Value,
    /// The object, when it is one that is only used: it is read and not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Identity>,
}

/// The answer to one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Located {
    /// The address asked for.
    pub address: Address,
    /// The objects that fit: none, one, or several when it is not known which one.
    pub identities: Vec<Identity>,
    /// The attributes that were read, when there is exactly one object; else null.
    pub attributes: Value,
}

impl Located {
    /// Nothing fits.
    #[must_use]
    pub fn nothing(address: Address) -> Self {
        Self { address, identities: Vec::new(), attributes: Value::Null }
    }

    /// Exactly one object fits.
    #[must_use]
    pub fn one(address: Address, identity: Identity, attributes: Value) -> Self {
        Self { address, identities: vec![identity], attributes }
    }

    /// The object, when there is exactly one.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        match self.identities.as_slice() {
            [identity] => Some(identity),
            _ => None,
        }
    }

    /// The value of a reference to it, as far as it is known.
    #[must_use]
    pub fn value_of(&self, reference: &Reference) -> Option<Value> {
        if reference.is_identity() {
            return self.identity().map(|identity| Value::from(identity.as_str()));
        }
        self.attributes.at(&reference.path).filter(|value| !value.is_null()).cloned()
    }
}
