//! Finding and reading what exists.

use serde::{Deserialize, Serialize};

use crate::{Address, ClusterUid, Identity, Observed, ProviderError};

/// Whose objects to find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscoverRequest {
    /// The cluster's unique id; `None` before it has one: then by name, to find what a lost state left.
    pub uid: Option<ClusterUid>,
    /// The cluster's name.
    pub cluster: String,
    /// Types that are read by identity and whose objects are listed in this call: the state may not know all of them. A
    /// provider may leave out all other types then.
    #[serde(default)]
    pub types: Vec<String>,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// The objects, sorted by address and identity; one address may have several.
    pub observed: Vec<Observed>,
    /// Types that could not be listed: their objects are unreadable, not absent.
    #[serde(default)]
    pub unlisted: Vec<Unlisted>,
    /// The unique id found in the tags, when asked by name.
    #[serde(default)]
    pub uid: Option<ClusterUid>,
}

/// A type that could not be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unlisted {
    /// The resource type.
    pub kind: String,
    /// Why.
    pub error: ProviderError,
}

/// One object to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    /// Under which address the answer is wanted; its type says what to read.
    pub address: Address,
    /// The object.
    pub identity: Identity,
}
