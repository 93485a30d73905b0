//! The objects of the node that are ours: one small file for each, written before the object.
//!
//! An object that is not in the ledger is never deleted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::{Address, Digest, ProviderError, Value};

use crate::disk::{Access, Disk};
use crate::error::permanent;

/// Where the ledger is.
pub(crate) const FOLDER: &str = "/var/lib/slipway/owned";

/// The version of an entry's form.
const VERSION: u32 = 1;

/// One object of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Version of this form.
    pub(crate) version: u32,
    /// The object, as [`key`] has it.
    pub(crate) identity: String,
    /// Its address.
    pub(crate) address: Address,
    /// The cluster's unique id.
    pub(crate) uid: String,
    /// The cluster's name.
    pub(crate) cluster: String,
    /// Token of the step that created it.
    pub(crate) created_by: String,
    /// Token of the last step on it.
    pub(crate) token: String,
    /// How far that step is.
    pub(crate) stage: Stage,
    /// What existed in its place before.
    pub(crate) found: Found,
    /// The desired attributes of the last step, without texts of secrets.
    pub(crate) wanted: Value,
    /// The record of the type.
    #[serde(default)]
    pub(crate) memory: Json,
}

/// How far the last step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// The object is being created.
    Creating,
    /// The object is being changed.
    Changing,
    /// The object is as desired.
    Done,
    /// The object is being removed.
    Removing,
}

/// What existed in the place of an object before Slipway created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Found {
    /// Nothing: the object is ours from the beginning.
    Nothing,
    /// The object itself, which was kept unchanged: it stays when it is deleted here.
    Kept,
    /// Another object, which is restored when this one is deleted.
    Replaced,
    /// The object, which was adopted: it is ours now.
    TakenOver,
}

/// The ledger of a node.
#[derive(Clone)]
pub(crate) struct Ledger {
    disk: Disk,
}

impl Ledger {
    pub(crate) fn new(disk: Disk) -> Self {
        Self { disk }
    }

    /// The entry of an object.
    pub(crate) fn get(&self, kind: &str, identity: &str) -> Result<Option<Entry>, ProviderError> {
        self.read(&name(kind, identity))
    }

    /// All entries, by the names of their files.
    pub(crate) fn all(&self) -> Result<BTreeMap<String, Entry>, ProviderError> {
        let mut entries = BTreeMap::new();
        for name in self.disk.list(FOLDER)? {
            if name.ends_with(".json")
                && let Some(entry) = self.read(&name)?
            {
                entries.insert(name, entry);
            }
        }
        Ok(entries)
    }

    /// Whether there is no entry.
    pub(crate) fn is_empty(&self) -> Result<bool, ProviderError> {
        Ok(!self.disk.list(FOLDER)?.iter().any(|name| name.ends_with(".json")))
    }

    /// Writes an entry down, durably.
    pub(crate) fn put(&self, entry: &Entry) -> Result<(), ProviderError> {
        let text = serde_json::to_vec(entry)
            .map_err(|error| permanent(format!("an entry of the ledger cannot be written: {error}")))?;
        let path = format!("{FOLDER}/{}", name(entry.address.kind(), &entry.identity));
        self.disk.write(&path, &text, Access::mode(0o600))
    }

    /// Strikes an entry.
    pub(crate) fn remove(&self, kind: &str, identity: &str) -> Result<(), ProviderError> {
        self.disk.remove(&format!("{FOLDER}/{}", name(kind, identity))).map(drop)
    }

    fn read(&self, name: &str) -> Result<Option<Entry>, ProviderError> {
        let path = format!("{FOLDER}/{name}");
        let Some(text) = self.disk.read(&path)? else { return Ok(None) };
        let entry: Entry = serde_json::from_slice(&text)
            .map_err(|error| permanent(format!("{path} is not an entry of a ledger: {error}")))?;
        if entry.version != VERSION {
            let text = format!("{path} was written by a newer version ({}) of Slipway", entry.version);
            return Err(permanent(text).with_hint("use that version"));
        }
        Ok(Some(entry))
    }
}

impl Entry {
    /// A first entry of an object.
    pub(crate) fn new(
        identity: &str,
        request: &slipway_resource::provider::ApplyRequest,
        found: Found,
    ) -> Self {
        let ownership = &request.ownership;
        let token = request.token.as_str().to_owned();
        Self {
            version: VERSION,
            identity: identity.to_owned(),
            address: ownership.address.clone(),
            uid: ownership.uid.as_str().to_owned(),
            cluster: ownership.cluster.clone(),
            created_by: token.clone(),
            token,
            stage: Stage::Creating,
            found,
            wanted: Value::Null,
            memory: Json::Null,
        }
    }
}

impl Entry {
    /// Whether the last step is over. Of an object that others have made, nothing was ever begun.
    pub(crate) fn has_ended(&self) -> bool {
        self.stage == Stage::Done || self.uid.is_empty()
    }

    /// An entry that is not in the ledger: the desired attributes of an object that another tool has made.
    /// They tell a reader where to look, and in which form to answer.
    pub(crate) fn supposed(address: &Address, identity: &str, wanted: &Value) -> Self {
        Self {
            version: VERSION,
            identity: identity.to_owned(),
            address: address.clone(),
            uid: String::new(),
            cluster: String::new(),
            created_by: String::new(),
            token: String::new(),
            stage: Stage::Creating,
            found: Found::Kept,
            wanted: crate::attributes::without_texts(wanted),
            memory: Json::Null,
        }
    }
}

/// The name of an entry's file: the identity may have any length and any letters.
fn name(kind: &str, identity: &str) -> String {
    let digest = Digest::of_bytes(identity.as_bytes());
    format!("{kind}-{}.json", digest.name())
}
