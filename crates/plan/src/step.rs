//! The nodes of a plan's graph.

use std::fmt;

use serde::{Deserialize, Serialize};
use slipway_resource::{Address, Identity, Value};

/// Position of a step in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

impl StepId {
    /// The position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// One action on one resource, or a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its position.
    pub id: StepId,
    /// The resource.
    pub address: Address,
    /// The action.
    pub action: StepAction,
    /// The object it is done to; `None` for the one that an earlier step of this plan makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The pool that is rolled, for a gate on one of its nodes. `verify` of a new machine has the argument `slot`, and gets the
    /// node from the result of the step `surge` of this pool and slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roll: Option<Address>,
    /// Steps that must be done before, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// The rate class that it counts against.
    pub rate_class: String,
    /// Expected duration in milliseconds.
    pub estimate_ms: u64,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepAction {
    /// Makes the object; its attributes are the change's `after`.
    Create,
    /// Changes the object in place to the change's `after`.
    Update,
    /// Deletes the object.
    Delete {
        /// Whether the object is an older or doubled one, so that the address keeps its record.
        surplus: bool,
    },
    /// The cloud removes the object together with its parent, which an earlier step of this plan deletes; no call.
    #[serde(rename = "goes-with")]
    RemovedWithParent {
        /// The parent.
        parent: Address,
    },
    /// Writes the ownership tags: a new address.
    Tag,
    /// Records the object in the state; no call.
    Record,
    /// Takes the object out of the state; no call.
    Forget,
    /// A gate.
    Operation {
        /// Its name, as the type declares it.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
}

impl StepAction {
    /// The verb for messages.
    #[must_use]
    pub fn verb(&self) -> &str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete { .. } | Self::RemovedWithParent { .. } => "delete",
            Self::Tag => "tag",
            Self::Record => "record",
            Self::Forget => "forget",
            Self::Operation { name, .. } => name,
        }
    }

    /// Whether a call to the provider is made.
    #[must_use]
    pub fn is_call(&self) -> bool {
        !matches!(self, Self::Record | Self::Forget | Self::RemovedWithParent { .. })
    }
}

impl Step {
    /// The pool and the slot of the step `surge` that starts the machine which this step verifies, if the node of the machine
    /// becomes known only then.
    #[must_use]
    pub fn new_machine(&self) -> Option<(&Address, String)> {
        let StepAction::Operation { arguments, .. } = &self.action else { return None };
        Some((self.roll.as_ref()?, arguments.get("slot")?.to_plain_text()))
    }

    /// The resource that the step is about, or the pool that is rolled.
    pub(crate) fn pool(&self) -> &Address {
        self.roll.as_ref().unwrap_or(&self.address)
    }

    /// The action in a few words: `drain sim_machine_pool.workers (workers-1)`. A machine is named by its identity;
    /// [`Titles`](crate::Titles) has the names that the plan shows.
    #[must_use]
    pub fn title(&self) -> String {
        self.titled(|_| None)
    }

    /// The same with a name for the identity of a machine.
    pub(crate) fn titled(&self, name_of: impl FnOnce(&str) -> Option<String>) -> String {
        match &self.action {
            StepAction::Operation { name, arguments } => {
                let argument = |key: &str| arguments.get(key).map(Value::to_plain_text);
                match (argument("member"), argument("slot")) {
                    (Some(member), _) => {
                        let machine = name_of(&member).unwrap_or(member);
                        format!("{name} {} ({machine})", self.address)
                    }
                    // The node of a new machine has no name yet.
                    (None, Some(slot)) => format!("{name} {} (new machine {slot})", self.pool()),
                    (None, None) => format!("{name} {}", self.address),
                }
            }
            StepAction::Delete { surplus: true } => {
                let identity = self.identity.as_ref().map_or("", |identity| identity.as_str());
                format!("delete {} ({identity})", self.address)
            }
            StepAction::RemovedWithParent { parent } => format!("delete {} (with {parent})", self.address),
            action => format!("{} {}", action.verb(), self.address),
        }
    }
}
