use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::rotation::{RotatedKey, Rotation};
use crate::configuration::EncryptionAlgorithm;
use crate::expand::Facts;

/// The machines of a cluster: a provider of machines pins them in its catalog, under `placement`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// The machines, in the order of their names.
    pub machines: Vec<Machine>,
    /// The machine whose address is the control plane's endpoint, if one was elected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elected: Option<String>,
    /// Whether the nodes of the cluster have a node-local balancer. `None` for a cluster that never had one, and whose spec
    /// never said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balancer: Option<bool>,
    /// The control planes that the cluster began with, including deleted ones: the initial members of etcd do
    /// not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub founders: Vec<Founder>,
    /// The settings of kube-proxy in an adopted cluster, as a digest: its pods were started with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxies_found: Option<String>,
    /// The algorithm of keys in an adopted cluster. Its maker chose it, and later keys use it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_algorithm: Option<EncryptionAlgorithm>,
    /// The end of the token with which machines join now; `None` if no machine was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join_token_ends: Option<Timestamp>,
    /// Whether an earlier version made the token of this cluster without an end. It then gets one, also when
    /// no machine joins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_join_token_endless: bool,
    /// How far keys are rotated; none for keys that were never rotated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rotations: BTreeMap<RotatedKey, Rotation>,
}

/// A control plane that a cluster began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Founder {
    /// Its name.
    pub name: String,
    /// Its address at that time.
    pub address: IpAddr,
}

/// One machine of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Machine {
    /// Its name: that of its node, and of the host in its resources.
    pub name: String,
    /// The pool that it belongs to.
    pub pool: String,
    /// Its address.
    pub address: IpAddr,
    /// Its failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Its region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Labels of its node, before those of its pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Whether it is a founding machine: the founding members of etcd begin together, and others join.
    #[serde(default)]
    pub founding: bool,
    /// Whether it was a control plane of this cluster, has lost its data, and joins again. Nothing waits for its API then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejoins: bool,
    /// The facts that were read on it.
    #[serde(default)]
    pub facts: Facts,
    /// Its CRI sockets, as `unix://` URLs.
    #[serde(default)]
    pub cri_sockets: Vec<String>,
    /// Whether the spec lists a kubelet for it, or has done so. Since then a drop-in of the packaged unit
    /// names the kubelet's program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kubelet_is_named: bool,
    /// Whether the spec listed programs to install when the machine came to the cluster: they are installed on all such machines at
    /// once. On a machine that was a node before, they are installed in its turn. `None` if the spec never listed any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_from_start: Option<bool>,
    /// The facts about a node that another tool has made; `None` for a machine that becomes a node here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundNode>,
}

/// A node that another tool has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FoundNode {
    /// The members that its etcd was started with, including itself; empty without etcd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub etcd_members: Vec<Founder>,
    /// The algorithm of its API server's key; `None` without an API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_algorithm: Option<EncryptionAlgorithm>,
}

impl Placement {
    /// The key in a catalog's data.
    pub const KEY: &'static str = "placement";

    /// The placement in a provider's catalog; `None` for a provider that makes its machines itself.
    ///
    /// # Errors
    /// When it has another form.
    pub fn of(catalog: &serde_json::Value) -> Result<Option<Self>, serde_json::Error> {
        catalog.get(Self::KEY).map(|placement| serde_json::from_value(placement.clone())).transpose()
    }

    /// The key in a pinned catalog's data that asks for a placement on nodes that another tool has made.
    pub const ADOPTING: &'static str = "adopting";

    /// The key in a pinned catalog's data that requests the placement of a cluster whose state is lost, from
    /// facts on its machines.
    pub const REBUILDING: &'static str = "rebuilding";

    /// Minimum validity of a join token. The maximum is twice as long.
    const TOKEN_LASTS: SignedDuration = SignedDuration::from_hours(24);

    /// Minimum remaining time of a token that machines may still join with.
    const TOKEN_IS_ENOUGH: SignedDuration = SignedDuration::from_hours(2);

    /// The end of the token with which machines join now: the pinned one, as long as enough time is left,
    /// else the second midnight (UTC) from now. All plans of one day name the same end.
    #[must_use]
    pub fn end_of_join_token(pinned: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        let enough = now.checked_add(Self::TOKEN_IS_ENOUGH).ok()?;
        if let Some(pinned) = pinned.filter(|pinned| *pinned > enough) {
            return Some(pinned);
        }
        let day = Self::TOKEN_LASTS.as_secs();
        let later = now.checked_add(Self::TOKEN_LASTS).ok()?.as_second();
        Timestamp::from_second((later / day + 1) * day).ok()
    }

    /// Whether another tool has made the cluster.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.machines.iter().any(|machine| machine.found.is_some())
    }

    /// Whether a machine has to join, now or again: another tool has made all others.
    #[must_use]
    pub fn has_joining(&self) -> bool {
        self.machines.iter().any(|machine| machine.found.is_none())
    }

    /// The machine of a name.
    #[must_use]
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    /// Whether the components of nodes reach the API through a node-local balancer.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        self.balancer == Some(true)
    }

    /// How far a key is rotated.
    #[must_use]
    pub fn rotation(&self, subject: RotatedKey) -> Rotation {
        self.rotations.get(&subject).copied().unwrap_or_default()
    }

    /// The machine whose address is the control plane's endpoint, if one was elected.
    #[must_use]
    pub fn elected(&self) -> Option<&Machine> {
        self.machine(self.elected.as_deref()?)
    }
}
