//! The change of one resource in a plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::diff::Change;
use slipway_resource::provider::Disruption;
use slipway_resource::{Address, Digest, Identity, Path, Value};

use crate::precondition::Precondition;
use crate::reason::Reason;

/// The change of one resource in a plan. Resources without a change are counted in the plan, not listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceChange {
    /// The resource.
    pub address: Address,
    /// The address it had before, when it is renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_address: Option<Address>,
    /// Whether it has lost the ownership tags of the cluster, and gets them again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retag: bool,
    /// The provider that does it.
    pub provider: String,
    /// Schema version of the attributes.
    pub schema_version: u32,
    /// The action.
    pub action: ChangeAction,
    /// The object as it is, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Its attributes as they were read.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub before: Value,
    /// Its desired attributes: references whose values are known only in an apply, unknown values for those
    /// that the server sets. Null when it is deleted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub after: Value,
    /// The differences, in the order of the paths; empty for create and delete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Differences that the spec says to leave alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Path>,
    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The effect on users of the cluster.
    #[serde(default)]
    pub disruption: Disruption,
    /// Why it needs a confirmation by name, if it does; which name is that is for [`crate::confirmation`] to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// The precondition of each step on the object.
    pub precondition: Precondition,
    /// The record of the resource after the change.
    pub record: RecordTemplate,
    /// Paths in `before` and `after` that are never shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<Path>,
    /// Other objects under the same address, older or doubled ones, that are deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surplus: Vec<Identity>,
    /// Machines that a roll replaces or retires, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineChange>,
    /// The node that is cordoned and drained before the change, and takes pods again after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained: Option<MachineNode>,
    /// The nodes that an earlier run cordoned, and that take pods again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncordoned: Vec<MachineNode>,
}

impl ResourceChange {
    /// Whether its machines are rolled: some are replaced, or all leave although the resource itself does not change. The
    /// machines of a resource that is replaced or deleted are not rolled, and a pool that only gets smaller is updated.
    #[must_use]
    pub fn rolls(&self) -> bool {
        let (machines, action) = (&self.machines, self.action);
        !action.is_replace()
            && action != ChangeAction::Delete
            && (machines.iter().any(|machine| machine.replaced)
                || !machines.is_empty() && action != ChangeAction::Update)
    }

    /// Requires a confirmation by name for this reason, beside the reasons that there are already.
    pub fn confirm(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        match &mut self.confirmation {
            None => self.confirmation = Some(reason),
            Some(known) if known.contains(&reason) => {}
            Some(known) => {
                known.push_str("; ");
                known.push_str(&reason);
            }
        }
    }

    /// A change of which nothing is known but whose it is.
    pub(crate) fn bare(address: &Address, provider: &str, schema_version: u32) -> Self {
        Self {
            address: address.clone(),
            previous_address: None,
            retag: false,
            provider: provider.to_owned(),
            schema_version,
            action: ChangeAction::NoOp,
            identity: None,
            before: Value::Null,
            after: Value::Null,
            changes: Vec::new(),
            ignored: Vec::new(),
            reasons: Vec::new(),
            disruption: Disruption::None,
            confirmation: None,
            precondition: Precondition::None,
            record: RecordTemplate::default(),
            sensitive: Vec::new(),
            surplus: Vec::new(),
            machines: Vec::new(),
            drained: None,
            uncordoned: Vec::new(),
        }
    }

    /// Whether the resource itself does not change, not even its address.
    pub(crate) fn is_idle(&self) -> bool {
        self.action == ChangeAction::NoOp && self.previous_address.is_none() && !self.retag
    }
}

/// One machine that a roll replaces or retires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineChange {
    /// Its node's name.
    pub name: String,
    /// The identity that the provider gave to it; the argument `member` of its gates.
    pub identity: Identity,
    /// The node that the machine is, if it is cordoned and drained by steps on nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<MachineNode>,
    /// Whether a new one takes its place.
    pub replaced: bool,
    /// Why.
    pub reason: String,
    /// Pods that would block its drain at present.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
}

/// The node that a machine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineNode {
    /// The address of steps on the node, as `kubernetes_node.workers-1`.
    pub address: Address,
    /// The identity of the node in its API.
    pub identity: Identity,
}

/// The parts of a state record that are known when planning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordTemplate {
    /// The attributes of the spec, with references; null when it is deleted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub applied: Value,
    /// Resources that it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Address>,
    /// Whether it stays in the cloud when it leaves the spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retain: bool,
    /// Whether deleting it needs a named confirmation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// Whether it was there before and is only used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
    /// Attributes that stay as they were found, with the digests of the values that were wanted then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub as_found: BTreeMap<Path, Digest>,
    /// Whether another tool made it, so that it has no ownership tags of the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untagged: bool,
}

/// The actions on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeAction {
    /// The resource itself does not change. Its machines may be rolled, or its address may change.
    NoOp,
    /// It is created.
    Create,
    /// It is changed in place.
    Update,
    /// It is deleted, then created again.
    ReplaceDeleteFirst,
    /// It is created again, then the old object is deleted.
    ReplaceCreateFirst,
    /// It is deleted.
    Delete,
    /// It stays in the cloud, and its record is removed.
    Forget,
    /// It exists with the cluster's ownership, but has no record: the record is added.
    Adopt,
    /// It does not change; its record does, such as the setting of its protection.
    Record,
    /// It could not be read, or depends on a resource that could not be read: the plan makes no decision
    /// about it.
    Deferred,
}

impl ChangeAction {
    /// Whether a new object replaces the old one.
    #[must_use]
    pub fn is_replace(self) -> bool {
        matches!(self, Self::ReplaceDeleteFirst | Self::ReplaceCreateFirst)
    }
}
