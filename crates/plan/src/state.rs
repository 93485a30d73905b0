//! The state of a cluster between runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slipway_resource::provider::{Catalog, Scope};
use slipway_resource::{Address, ClusterUid, Digest, Identity, Path, ProviderError, Value};

/// Version of the snapshot's form. Version 2 adds the objects that were
/// forgotten on request, version 3 the nodes that a run has cordoned, version 4 objects that never had ownership tags.
pub const FORMAT: u32 = 4;

/// The newest version that is read. Version 5 adds the machines of rolls that did not end; only a snapshot with such a roll has it.
pub const NEWEST: u32 = 5;

/// The state of a cluster: one record for each resource that Slipway created or adopted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of this form.
    pub format: u32,
    /// The cluster's name.
    pub cluster: String,
    /// Its unique id.
    pub uid: ClusterUid,
    /// Digest of the spec that was applied last.
    pub spec_digest: Option<Digest>,
    /// The spec that was applied last, as JSON of the internal type. `delete` and `upgrade` start from it.
    #[serde(default)]
    pub spec: serde_json::Value,
    /// The pinned choices of each provider.
    #[serde(default)]
    pub catalogs: BTreeMap<String, Catalog>,
    /// The account and region of this state, by provider.
    #[serde(default)]
    pub scopes: BTreeMap<String, Scope>,
    /// The resources by address.
    pub resources: BTreeMap<Address, Record>,
    /// Objects that carry the cluster's ownership and were forgotten on request: they are left alone, unless the spec
    /// asks for their address. An address without an object holds data, and nothing was found there when the state was made:
    /// a new object at any of these addresses begins without the data, and needs a confirmation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forgotten: BTreeMap<Address, Vec<Identity>>,
    /// Nodes that a run has cordoned for a change, by their addresses, until the machine is deleted or the
    /// node is uncordoned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cordoned: BTreeMap<Address, Cordoned>,
    /// The pools whose machines `slipway roll` replaces, while that roll did not end, and their machines that are still to be
    /// replaced. A pool without such machines is rolled already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rolls: BTreeMap<Address, BTreeSet<Identity>>,
    /// Resources that an interrupted run was changing, and why their providers do not report the outcome.
    /// Plans make no decision about them. The journal has these steps; a stored snapshot has none.
    #[serde(skip)]
    pub in_doubt: BTreeMap<Address, ProviderError>,
}

/// A node that a run has cordoned for a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cordoned {
    /// The identity of the node in its API.
    pub identity: Identity,
    /// The pool of its machine, or the kubelet that was to change in place.
    pub pool: Address,
}

/// The record of one resource, as it was applied last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The provider that made it.
    pub provider: String,
    /// Schema version of `applied`.
    pub schema_version: u32,
    /// The identity that the provider gave to it.
    pub identity: Identity,
    /// The attributes that the spec asked for; `None` when the state was rebuilt and they are not known.
    pub applied: Option<Value>,
    /// Resources that it depends on, for the order of deletion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Address>,
    /// Whether it stays in the cloud when it leaves the spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retain: bool,
    /// Whether deleting it needs a named confirmation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// Whether it existed before and is only used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
    /// Attributes that keep the value that was found on adoption, while the desired value has the digest that
    /// it had then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub as_found: BTreeMap<Path, Digest>,
    /// Whether another tool made it, so that it never had the ownership tags of the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untagged: bool,
    /// Older objects of the same address that a replacement has not deleted yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deposed: Vec<Identity>,
}

/// The addresses of records by type and identity.
#[must_use]
pub fn by_identity<'a>(
    records: impl Iterator<Item = (&'a Address, &'a Record)>,
) -> BTreeMap<(&'a str, &'a Identity), &'a Address> {
    records.map(|(address, record)| ((address.kind(), &record.identity), address)).collect()
}

impl Snapshot {
    /// An empty state for a new cluster.
    #[must_use]
    pub fn empty(cluster: impl Into<String>, uid: ClusterUid) -> Self {
        Self {
            format: FORMAT,
            cluster: cluster.into(),
            uid,
            spec_digest: None,
            spec: serde_json::Value::Null,
            catalogs: BTreeMap::new(),
            scopes: BTreeMap::new(),
            resources: BTreeMap::new(),
            forgotten: BTreeMap::new(),
            cordoned: BTreeMap::new(),
            rolls: BTreeMap::new(),
            in_doubt: BTreeMap::new(),
        }
    }

    /// The version of the form in which it is stored.
    #[must_use]
    pub fn stored_format(&self) -> u32 {
        if self.rolls.is_empty() { FORMAT } else { NEWEST }
    }

    /// The snapshot as it is stored.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let format = self.stored_format();
        if self.format == format {
            return serde_json::to_vec(self);
        }
        serde_json::to_vec(&Self { format, ..self.clone() })
    }
}
