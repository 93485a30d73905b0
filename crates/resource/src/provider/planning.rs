//! Plans of changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::NodeReference;
use crate::{Address, ErrorClass, Identity, Path, Value};

/// One resource to plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanItem {
    /// Its address.
    pub address: Address,
    /// The desired attributes; a reference without a known value stays one and counts as unknown. `None` for
    /// a deletion.
    pub desired: Option<Value>,
    /// The existing object; `None` if there is none.
    pub observed: Option<Value>,
    /// The last applied attributes, if the state has them.
    pub last_applied: Option<Value>,
}

/// The cloud's prediction for a change, made without side effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DryRun {
    /// The wanted attributes as the cloud would keep them; `Plan` gets them in place of those of the item. `None`
    /// where there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Value>,
    /// The existing object as the provider sees it when it knows the desired attributes. The comparison uses
    /// it; preconditions use the observed one. `None` where both are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Value>,
    /// Sentences that explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Attributes whose change the cloud refuses for an object that exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replace_paths: Vec<Path>,
}

/// The provider's plan for the change of one resource. The engine computes the change itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The desired attributes as the cloud will return them: normalised, with its defaults; unknown where the
    /// value is known only after apply. Null for a deletion.
    pub normalised: Value,
    /// Attributes whose change needs a new object, beyond those that the schema calls immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replace_paths: Vec<Path>,
    /// Computed attributes that an update in place will change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_after: Vec<Path>,
    /// Sentences that explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The effect on users of the cluster.
    #[serde(default)]
    pub disruption: Disruption,
    /// Expected duration in milliseconds, where it differs from the type's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_ms: Option<u64>,
    /// For a resource with machines: those it has and what is to become of them; without members for one
    /// that does not exist yet, to say which groups it comes after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// Set where the change makes infrastructure that does not implement all that the spec asks for: a
    /// sentence that names the missing part. An apply carries out such a plan only with
    /// `--infrastructure-only`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_only: Option<String>,
    /// The arguments of the gate [`operation::PREPARE`], which runs before the object is changed, and before the first unit of
    /// its turn is; none for a change that needs no preparation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Value>,
}

/// The effect of a change on users of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disruption {
    /// Nothing.
    #[default]
    None,
    /// Nodes are replaced or drained one after the other, under the budgets. A kubelet that changes in place with this has its
    /// node drained before.
    Rolling,
    /// A short interruption.
    Brief,
    /// An outage until the change is through.
    Outage,
}

/// Names of the gates of a roll, and their arguments.
///
/// A type of pools has `surge` and `remove`. The type of nodes has `verify`, `cordon` and `drain`: they get the identity of
/// the node, or, for a node that did not exist during planning, an empty identity and the argument `node`
/// ([`NodeReference::to_value`]). A type of pools whose members name no nodes may have all of these gates itself; it then
/// gets the argument `member`, or `slot`, in place of the node.
pub mod operation {
    /// Starts one machine beyond the size, and ends when the machine runs: argument `slot`. With `anew`, the existing machines
    /// do not count as new ones, since they leave although they are as the pool wants them. The answer has the attribute
    /// [`NODE`], or [`NOT_NEEDED`].
    pub const SURGE: &str = "surge";
    /// Makes sure that a change can be made at all, and changes nothing that runs.
    pub const PREPARE: &str = "prepare";
    /// Waits until a node is ready: arguments `timeout_ms`, and `settle_ms` where it must stay ready for a time.
    pub const VERIFY: &str = "verify";
    /// Marks a node as unschedulable. With the argument [`TEMPORARY`], a node that was schedulable is marked for [`UNCORDON`].
    pub const CORDON: &str = "cordon";
    /// Makes a node schedulable again. With the argument [`TEMPORARY`], a node that was cordoned before stays cordoned.
    pub const UNCORDON: &str = "uncordon";
    /// The argument of [`CORDON`] and [`UNCORDON`] around a change after which the node is as it was before.
    pub const TEMPORARY: &str = "temporary";
    /// Evicts the pods of a node, within the budgets: arguments `timeout_ms`; `ignore_budgets` where pods are deleted instead;
    /// `on_blocked` with `skip` or `force` where the drain does not fail at the end of its time.
    pub const DRAIN: &str = "drain";
    /// Terminates a machine without replacing it: argument `member`, and `retire` where nothing may take its place.
    /// If the pool is deleted right after, the machine may be terminated together with the pool.
    pub const REMOVE: &str = "remove";

    /// Reads what a machine said last, and changes nothing: argument `member`. The answer has the attribute [`TEXT`]. No part of
    /// a roll: a report on a cluster runs it for machines that did not become nodes.
    pub const CONSOLE: &str = "console";

    /// Attaches the disk of a member of etcd to the machine on which the provider runs. No part of a plan: a control plane that
    /// boots runs it, with the identity of the machine and an empty identity of the object. Arguments: `cluster`, the name of the
    /// cluster; `etcd`, the name of the etcd cluster; `members`, the names of the members that the pool of the machine runs;
    /// `machine`, its provider id. It fails as `transient` while all of these disks belong to other machines. The answer has the
    /// attributes [`MEMBER`], [`VOLUME`], [`SERIAL`] and [`DEVICES`].
    pub const ATTACH: &str = "attach";

    /// The attribute of the answer of [`ATTACH`] with the name of the member.
    pub const MEMBER: &str = "member";
    /// The attribute of the answer of [`ATTACH`] with the cloud's name of the disk.
    pub const VOLUME: &str = "volume";
    /// The attribute of the answer of [`ATTACH`] with the serial number of the device.
    pub const SERIAL: &str = "serial";
    /// The attribute of the answer of [`ATTACH`] with paths under which the device may be found.
    pub const DEVICES: &str = "devices";

    /// The attribute of the answer of [`CONSOLE`]: the end of the text, null where there is none.
    pub const TEXT: &str = "text";

    /// The attribute of the answer of [`SURGE`] with the node that the new machine is. It is also the argument with which
    /// [`VERIFY`] gets that node.
    pub const NODE: &str = "node";

    /// The attribute of the answer of [`SURGE`] that is true where no machine was needed any more. There is then no node to wait for.
    pub const NOT_NEEDED: &str = "not_needed";
}

/// The machines of a pool that a change replaces, and the limits for it.
///
/// The planner turns it into steps: for each slot `surge` and `verify`, for each deleted member `cordon`,
/// `drain`, `remove`. `verify`, `cordon` and `drain` are steps on the nodes that the members name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// Rollouts of one group know of each other: it is the role of the machines. A pool that is deleted waits for the other pools
    /// of its group that are created or enlarged. The machines that run workloads have the group `worker`.
    pub group: String,
    /// Whether only one rollout of the group may be under way.
    pub exclusive: bool,
    /// Groups whose rollouts come first.
    #[serde(default)]
    pub after: Vec<String>,
    /// The number of machines after it.
    pub size: u32,
    /// The machines seen, in the order in which they go; those that stay too.
    pub members: Vec<Member>,
    /// How many machines may exist beyond the size.
    pub max_surge: u32,
    /// How many may be missing.
    pub max_unavailable: u32,
    /// How long a drain may take, in milliseconds; 0 where machines go without being cordoned and drained.
    pub drain_timeout_ms: u64,
    /// How long a machine may take to become a ready node, in milliseconds.
    pub ready_timeout_ms: u64,
    /// Gates on other resources that come before the first machine is deleted, such as a snapshot of etcd.
    #[serde(default)]
    pub prerequisites: Vec<Prerequisite>,
    /// Expected durations of the gates in milliseconds, where they differ from the type's.
    #[serde(default)]
    pub durations_ms: BTreeMap<String, u64>,
    /// Data that is lost with each deleted machine, as `its disk /dev/xvdb`; `None` where a machine has only
    /// data that its replacement gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loses: Option<String>,
    /// Why no machine may leave the pool, as `its disk cannot be moved`. A plan that replaces or removes a machine is refused, unless
    /// it deletes the whole cluster. `None` where machines may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irremovable: Option<String>,
    /// How long a new node must stay ready before the next machine is removed, in milliseconds.
    #[serde(default)]
    pub settle_ms: u64,
    /// Whether pods are deleted instead of evicted, so that no budget counts.
    #[serde(default)]
    pub ignore_budgets: bool,
    /// The action when a node is not empty at the end of its drain.
    #[serde(default)]
    pub on_blocked: OnBlocked,
}

/// The action when a node is not empty at the end of its drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnBlocked {
    /// The drain fails, and the roll stops.
    #[default]
    Fail,
    /// The machine is removed with the pods that are left on it.
    Skip,
    /// The pods that are left are deleted.
    Force,
}

impl OnBlocked {
    /// The value of the argument `on_blocked` of a drain.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Force => "force",
        }
    }

    /// Reads such a value; `fail` for any other text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "skip" => Self::Skip,
            "force" => Self::Force,
            _ => Self::Fail,
        }
    }
}

impl Rollout {
    /// The value of [`Rollout::loses`] for data disks, given by name, that are deleted with their machine;
    /// `None` without disks.
    #[must_use]
    pub fn data_disks(names: &[String]) -> Option<String> {
        match names {
            [] => None,
            [one] => Some(format!("its data disk {one}")),
            several => Some(format!("its data disks {}", several.join(", "))),
        }
    }

    /// Whether a machine is cordoned and drained before it is deleted.
    #[must_use]
    pub fn drains(&self) -> bool {
        self.drain_timeout_ms > 0
    }

    /// Whether any machine is deleted.
    #[must_use]
    pub fn has_leaving(&self) -> bool {
        self.members.iter().any(|member| member.fate != Fate::Keep)
    }
}

/// One machine of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its node's name, for people.
    pub name: String,
    /// The identity that the provider gave to it.
    pub identity: Identity,
    /// The planned action on it.
    pub fate: Fate,
    /// Whether the machine runs. The provider of nodes says whether its node is ready. Where `node` is
    /// absent: whether it is a ready node.
    pub ready: bool,
    /// Objects that would block a drain now, as `budget kube-system/coredns allows 0 disruptions`. Providers
    /// fill it only where `node` is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// The node that the machine is; `None` where the machine is no node, and where the type of the pool has gates of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeReference>,
}

/// The planned action on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It stays.
    Keep,
    /// A new one takes its place.
    Replace {
        /// Why, in a sentence.
        reason: String,
        /// The attribute that makes it so, for the cause chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Path>,
    },
    /// It is deleted without a replacement.
    Retire {
        /// Why, in a sentence.
        reason: String,
    },
}

/// A gate on another resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prerequisite {
    /// The resource.
    pub address: Address,
    /// The object; `None` for one that the same plan makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The gate.
    pub operation: String,
    /// Its arguments.
    pub arguments: Value,
}

/// One change to check beforehand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreflightItem {
    /// The resource.
    pub address: Address,
    /// `create`, `update`, `delete`, or `replace` for an object that is deleted before the new one is made.
    pub action: String,
    /// The desired attributes; null for a delete.
    pub desired: Value,
}

/// A problem that would stop a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreflightFinding {
    /// The resource, if it is about one.
    pub address: Option<Address>,
    /// The class of the failure that would come.
    pub class: ErrorClass,
    /// A sentence for people.
    pub message: String,
    /// A way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
