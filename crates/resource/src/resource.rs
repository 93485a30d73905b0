//! A resource as it is wanted, and as it was found.

use serde::{Deserialize, Serialize};

use crate::{Address, ClusterUid, ErrorClass, Identity, Origins, Path, ProviderError, Token, Value};

/// A resource that the spec asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Desired {
    /// Its address.
    pub address: Address,
    /// Its attributes, by the schema of its type; references to other resources allowed.
    pub attributes: Value,
    /// Resources that must exist before it, beyond those it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Address>,
    /// How the planner treats it.
    #[serde(default, skip_serializing_if = "Lifecycle::is_default")]
    pub lifecycle: Lifecycle,
    /// The field of the spec that each attribute comes from, as `pools[workers].image`; the root path means
    /// the resource itself.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
}

/// How the planner treats a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifecycle {
    /// Attributes whose difference is left alone once the object exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore_changes: Vec<Path>,
    /// Whether deleting or replacing it needs a named confirmation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// Whether it stays in the cloud when it leaves the spec or the cluster is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retain: bool,
    /// Addresses under which it was known before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_from: Vec<Address>,
    /// Whether it exists already and is only used: never created, changed or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Identity>,
    /// Resources that are not changed at the same time: where a plan updates one of them and this one, this one is updated
    /// after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub update_after: Vec<Address>,
    /// The turn in which it is updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Whether it is needed only while what depends on it is made, as a token by which machines join: it ends by itself, and a
    /// plan creates or updates it only together with something that depends on it and that the plan makes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_demand: bool,
}

/// Updates that are made in turn, so that a change that breaks something breaks one unit of many.
///
/// The resources of a group are taken by unit, as the host that they are on. The first unit is updated alone, then at most
/// [`Turn::at_once`] at a time; a unit begins when all updates of those before it are done, and none begins after one that
/// failed. Creating and deleting takes no turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The group.
    pub group: String,
    /// The unit.
    pub unit: String,
    /// Lower ones first. Of a unit counts the lowest of what changes, then its name.
    #[serde(default)]
    pub rank: u32,
    /// How many units of the group may change at the same time while this one does; at least 1.
    pub at_once: u32,
}

/// A rename that the spec declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// The address before.
    pub from: Address,
    /// The address now.
    pub to: Address,
}

/// The result of reading one object. An unreadable object never counts as absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// It exists, with these attributes.
    Present(Value),
    /// It does not exist.
    Absent,
    /// It could not be read.
    Unreadable(ProviderError),
}

/// An object that a provider found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// The address in its ownership tags; the one asked for in answers to a read.
    pub address: Address,
    /// The identity that the provider gave to it.
    pub identity: Identity,
    /// Idempotency token of the step that created it, when the provider keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The unique id of the cluster in its ownership tags, in answers to a read, where the provider reads the tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<ClusterUid>,
    /// The result of the read.
    pub observation: Observation,
}

impl Desired {
    /// A resource with attributes and nothing else.
    #[must_use]
    pub fn new(address: Address, attributes: Value) -> Self {
        Self {
            address,
            attributes,
            depends_on: Vec::new(),
            lifecycle: Lifecycle::default(),
            origins: Origins::default(),
        }
    }

    /// Every resource that must exist before this one: referred to, keeper of one of its secrets, or named,
    /// each once, sorted.
    #[must_use]
    pub fn dependencies(&self) -> Vec<Address> {
        let mut addresses = self.depends_on.clone();
        self.attributes.for_each_reference(&mut |reference| addresses.push(reference.address.clone()));
        self.attributes.for_each_secret(&mut |secret| {
            addresses.extend(secret.keeper().map(|(address, _)| address));
        });
        addresses.sort();
        addresses.dedup();
        addresses
    }

    /// The field of the spec that an attribute comes from: that of the longest known prefix of its path.
    #[must_use]
    pub fn origin(&self, path: &Path) -> Option<&str> {
        self.origins
            .iter()
            .filter(|(known, _)| path.starts_with(known))
            .max_by_key(|(known, _)| known.segments().len())
            .map(|(_, origin)| origin.as_str())
    }
}

impl Observed {
    /// The same object, for one who needs it to exist.
    ///
    /// # Errors
    /// `not-found` when it does not; why it could not be read.
    pub fn existing(self) -> Result<Self, ProviderError> {
        let Self { address, identity, .. } = &self;
        match self.observation {
            Observation::Present(_) => Ok(self),
            Observation::Unreadable(error) => Err(error),
            Observation::Absent => {
                let text = format!("there is no {} with the id {identity}", address.kind());
                Err(ProviderError::new(ErrorClass::NotFound, text).with_address(address))
            }
        }
    }
}

impl Lifecycle {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_exists() {
        let observed = |observation| Observed {
            address: Address::new("network", "main"),
            identity: Identity::new("net-1"),
            token: None,
            owner: None,
            observation,
        };
        let there = observed(Observation::Present(Value::Null));
        assert_eq!(there.clone().existing(), Ok(there));
        let missing = observed(Observation::Absent).existing().unwrap_err();
        assert_eq!(missing.class, ErrorClass::NotFound);
        assert_eq!(missing.message, "there is no network with the id net-1");
        assert_eq!(missing.address, Some(Address::new("network", "main")));
        let hidden = ProviderError::new(ErrorClass::Transient, "no answer");
        assert_eq!(observed(Observation::Unreadable(hidden.clone())).existing(), Err(hidden));
    }
}
