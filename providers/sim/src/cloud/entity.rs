//! What the cloud consists of, in the form in which the log keeps it.

use serde::{Deserialize, Serialize};
use slipway_resource::{Ownership, Token, Value};

use crate::clock::Millis;

/// One resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Its identity.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// Whose it is; `None` for what nobody tagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Ownership>,
    /// The token of the call that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Its attributes.
    pub attributes: Value,
    /// When it was made.
    pub created_at: Millis,
    /// When the last call on it is through.
    pub settled_at: Millis,
    /// What reads still show, where reads are delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stale: Option<Stale>,
    /// What only pools have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<PoolState>,
    /// Whether the disruption budget of this workload allows nothing, whatever its attributes say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen_budget: bool,
}

/// What reads show for a while after a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stale {
    /// Until when.
    pub(crate) until: Millis,
    /// The attributes; `None` for nothing.
    pub(crate) attributes: Option<Value>,
    /// Whether the object is gone in truth.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gone: bool,
}

/// What a pool keeps beside its attributes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolState {
    /// How many machines it has launched in its life.
    pub(crate) launched: u64,
    /// The version of its template.
    pub(crate) template_version: u64,
    /// The digest of its template.
    pub(crate) template_digest: String,
    /// Machines that were removed and whose places are empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) vacancies: Vec<Vacancy>,
}

/// The empty place of a machine that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vacancy {
    /// The node's name.
    pub name: String,
    /// What the machine was called.
    pub identity: String,
    /// The zone it ran in.
    pub zone: String,
    /// The volume that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

/// What the provider ids of nodes begin with.
const PROVIDER_ID: &str = "sim:///";

/// One machine of a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its identity.
    pub id: String,
    /// The pool's identity.
    pub pool: String,
    /// The cluster that it joins.
    pub cluster: String,
    /// The node's name.
    pub name: String,
    /// The version of the template that it was made from.
    pub template_version: u64,
    /// The digest of that template.
    pub template_digest: String,
    /// The zone it runs in.
    pub zone: String,
    /// Its address.
    pub address: String,
    /// The image that it booted from.
    pub image: String,
    /// What kind of machine it is.
    pub machine_type: String,
    /// The Kubernetes release that it runs.
    pub kubernetes_version: String,
    /// When it was launched.
    pub launched_at: Millis,
    /// When it is a ready node; `None` for never.
    pub ready_at: Option<Millis>,
    /// Whether nothing new is placed on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cordoned: bool,
    /// Whether that is for a change after which it takes pods again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cordoned_for_a_change: bool,
    /// Whether it is stopped: it exists and does not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Whether it exists beyond the pool's size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub surplus: bool,
    /// The slot of the roll that launched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The volume that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

impl Machine {
    /// The provider id of the node that it is.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER_ID}{}", self.id)
    }

    /// The identity of the machine with a provider id; `None` for the provider id of another cloud.
    #[must_use]
    pub fn id_of(provider_id: &str) -> Option<&str> {
        provider_id.strip_prefix(PROVIDER_ID).filter(|id| !id.is_empty())
    }

    /// Whether it is a ready node at this moment.
    #[must_use]
    pub fn is_ready(&self, now: Millis) -> bool {
        !self.stopped && self.ready_at.is_some_and(|ready| ready <= now)
    }
}

/// One pod of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// The pod's name, with its namespace.
    pub name: String,
    /// The workload's identity.
    pub workload: String,
    /// The machine it runs on; `None` as long as none has room.
    pub machine: Option<String>,
    /// When it is ready.
    pub ready_at: Millis,
}

/// An action that was done, so that its token is not done again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journaled {
    /// The token.
    pub(crate) token: Token,
    /// The object.
    pub(crate) id: String,
    /// The machine, for gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<String>,
    /// When the action is through; `None` while it goes on.
    pub(crate) done_at: Option<Millis>,
}

/// One event: something is as it says, or is gone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Entity {
    /// An object is.
    Object(Box<Object>),
    /// An object is gone.
    ObjectGone(String),
    /// A machine is.
    Machine(Box<Machine>),
    /// A machine is gone.
    MachineGone(String),
    /// A pod is.
    Pod(Box<Pod>),
    /// A pod is gone.
    PodGone(String),
    /// An action was done.
    Journal(Box<Journaled>),
}

/// The same event, of borrowed parts, to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EntityRef<'a> {
    /// As [`Entity::Object`].
    Object(&'a Object),
    /// As [`Entity::ObjectGone`].
    ObjectGone(&'a str),
    /// As [`Entity::Machine`].
    Machine(&'a Machine),
    /// As [`Entity::MachineGone`].
    MachineGone(&'a str),
    /// As [`Entity::Pod`].
    Pod(&'a Pod),
    /// As [`Entity::PodGone`].
    PodGone(&'a str),
    /// As [`Entity::Journal`].
    Journal(&'a Journaled),
}

/// One line of the log: what one change has made, whole or not at all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The simulated time.
    pub(crate) at: Millis,
    /// The last number that an identity got.
    pub(crate) serial: u64,
    /// What is, and what is gone.
    pub(crate) events: Vec<Entity>,
}
