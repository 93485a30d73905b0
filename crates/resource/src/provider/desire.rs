//! From a cluster to typed resources.

use serde::{Deserialize, Serialize};

use crate::{Desired, Digest, ErrorClass, ProviderError};

/// Facts that only the cloud knows and a plan depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Digest of `data`.
    pub digest: Digest,
    /// The provider's own form, opaque to the engine.
    pub data: serde_json::Value,
}

impl Catalog {
    /// A catalog with its digest.
    ///
    /// # Errors
    /// `permanent` when what is known cannot be written as JSON.
    pub fn new(known: &impl Serialize) -> Result<Self, ProviderError> {
        let unwritable =
            |error: serde_json::Error| ProviderError::new(ErrorClass::Permanent, error.to_string());
        let data = serde_json::to_value(known).map_err(unwritable)?;
        let digest = Digest::of(&data).map_err(unwritable)?;
        Ok(Self { digest, data })
    }

    /// The catalog of a provider that needs to know nothing.
    ///
    /// # Errors
    /// None that can happen.
    pub fn empty() -> Result<Self, ProviderError> {
        Self::new(&serde_json::Map::new())
    }
}

/// For which cluster a catalog is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogRequest {
    /// The cluster with all defaults, in the JSON form of the internal spec.
    pub cluster: serde_json::Value,
    /// The pinned catalog of the state: its choices stay, and missing ones are added.
    pub pinned: Option<Catalog>,
}

/// The input of an expansion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpandRequest {
    /// The cluster with all defaults, in the JSON form of the internal spec.
    pub cluster: serde_json::Value,
    /// The catalog that the state has pinned.
    pub catalog: Catalog,
}

/// The typed resources of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expansion {
    /// The resources, sorted by address.
    pub resources: Vec<Desired>,
    /// Remarks for the user, such as fields without an effect here.
    #[serde(default)]
    pub notes: Vec<ExpandNote>,
}

/// A remark on a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpandNote {
    /// The field, as `pools[workers].image`.
    pub field: String,
    /// A sentence for people.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalog_has_the_digest_of_its_data() {
        let catalog = Catalog::new(&["a", "b"]).unwrap();
        assert_eq!(catalog.data, serde_json::json!(["a", "b"]));
        assert_eq!(catalog.digest, Digest::of(&catalog.data).unwrap());
        assert_eq!(Catalog::empty().unwrap().data, serde_json::json!({}));
    }
}
