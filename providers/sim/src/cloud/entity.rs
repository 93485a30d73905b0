//! The contents of the cloud, in the form of the log.

use serde::{Deserialize, Serialize};
use slipway_resource::{Ownership, Token, Value};

use super::traffic::{Balancer, PodRoute};
use crate::clock::Millis;

/// One resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Its identity.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// The owner; `None` for an object without tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Ownership>,
    /// The token of the call that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Its attributes.
    pub attributes: Value,
    /// When it was created.
    pub created_at: Millis,
    /// When the last call on it is complete.
    pub settled_at: Millis,
    /// The attributes that reads still show, where reads are delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stale: Option<Stale>,
    /// The additional data of pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<PoolState>,
    /// Whether the disruption budget of this workload allows nothing, whatever its attributes say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen_budget: bool,
}

/// The attributes that reads show for a while after a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stale {
    /// The end of the delay.
    pub(crate) until: Millis,
    /// The attributes; `None` for nothing.
    pub(crate) attributes: Option<Value>,
    /// Whether the object is gone in truth.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gone: bool,
}

/// The data of a pool beside its attributes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolState {
    /// How many machines it has launched in its life.
    pub(crate) launched: u64,
    /// The version of its template.
    pub(crate) template_version: u64,
    /// The digest of its template.
    pub(crate) template_digest: String,
    /// Places of removed machines that are still empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) vacancies: Vec<Vacancy>,
}

/// The empty place of a machine that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vacancy {
    /// The node's name.
    pub name: String,
    /// The identity of the machine.
    pub identity: String,
    /// The zone it ran in.
    pub zone: String,
    /// The volume that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

/// The start of the provider ids of nodes.
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
    /// The version of the template that it was launched from.
    pub template_version: u64,
    /// The digest of that template.
    pub template_digest: String,
    /// The zone it runs in.
    pub zone: String,
    /// Its address.
    pub address: String,
    /// The image that it booted from.
    pub image: String,
    /// The type of the machine.
    pub machine_type: String,
    /// The Kubernetes release that it runs.
    pub kubernetes_version: String,
    /// When it was launched.
    pub launched_at: Millis,
    /// When it becomes a ready node; `None` for never.
    pub ready_at: Option<Millis>,
    /// Whether it is cordoned.
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
    /// The provider id of its node.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER_ID}{}", self.id)
    }

    /// The identity of the machine with a provider id; `None` for the provider id of another cloud.
    #[must_use]
    pub fn id_of(provider_id: &str) -> Option<&str> {
        provider_id.strip_prefix(PROVIDER_ID).filter(|id| !id.is_empty())
    }

    /// Whether it is a ready node at this time.
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
    /// When the pod becomes ready.
    pub ready_at: Millis,
}

/// An action that was carried out, so that its token is not used again.
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
    /// When the action is complete; `None` while it runs.
    pub(crate) done_at: Option<Millis>,
}

/// One event: an object with its present contents, or its removal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Entity {
    /// An object.
    Object(Box<Object>),
    /// An object is gone.
    ObjectGone(String),
    /// A machine.
    Machine(Box<Machine>),
    /// A machine is gone.
    MachineGone(String),
    /// A pod.
    Pod(Box<Pod>),
    /// A pod is gone.
    PodGone(String),
    /// A load balancer of a Service.
    Balancer(Box<Balancer>),
    /// A load balancer of a Service is gone.
    BalancerGone(String),
    /// A route to pods.
    PodRoute(Box<PodRoute>),
    /// A route to pods is gone.
    PodRouteGone(String),
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
    /// As [`Entity::Balancer`].
    Balancer(&'a Balancer),
    /// As [`Entity::BalancerGone`].
    BalancerGone(&'a str),
    /// As [`Entity::PodRoute`].
    PodRoute(&'a PodRoute),
    /// As [`Entity::PodRouteGone`].
    PodRouteGone(&'a str),
    /// As [`Entity::Journal`].
    Journal(&'a Journaled),
}

/// One line of the log: the events of one change, all or none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The simulated time.
    pub(crate) at: Millis,
    /// The last number that an identity got.
    pub(crate) serial: u64,
    /// The new contents and the removals.
    pub(crate) events: Vec<Entity>,
}
