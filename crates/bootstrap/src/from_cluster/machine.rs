use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::configuration::EncryptionAlgorithm;
use crate::expand::Facts;

/// Which machines a cluster has: what a provider of machines pins in its catalog, under `placement`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// The machines, in the order of their names.
    pub machines: Vec<Machine>,
    /// The machine whose address is the control plane's endpoint, where one was elected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elected: Option<String>,
    /// The control planes that the cluster began with, also those that are gone: what the members of etcd were started
    /// with does not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub founders: Vec<Founder>,
    /// The settings of kube-proxy, as a digest, with which a cluster was taken over: its pods were started with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxies_found: Option<String>,
    /// The algorithm of keys in a cluster that was taken over: who made it chose, and what comes later is like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_algorithm: Option<EncryptionAlgorithm>,
    /// When the token ends with which machines join now; none where no machine was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join_token_ends: Option<Timestamp>,
    /// Whether the token of this cluster was made by a version that gave it no end: it gets one, also when no machine joins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_join_token_endless: bool,
}

/// A control plane that a cluster began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Founder {
    /// Its name.
    pub name: String,
    /// Its address then.
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
    /// The failure domain that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The region that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Labels of its node, before those of its pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Whether it was there when the cluster began: the members of etcd begin together with those, and others join.
    #[serde(default)]
    pub founding: bool,
    /// What was read on it.
    #[serde(default)]
    pub facts: Facts,
    /// The CRI sockets that are there, as `unix://` URLs.
    #[serde(default)]
    pub cri_sockets: Vec<String>,
    /// Whether the spec lists a kubelet for it, or has done so: since then an addition to the unit of a package names the
    /// kubelet's program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kubelet_is_named: bool,
    /// What was found of a node that another tool has made; none for a machine that becomes a node here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundNode>,
}

/// A node that another tool has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FoundNode {
    /// The members that its etcd was started with, itself among them; nothing where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub etcd_members: Vec<Founder>,
    /// The algorithm of its API server's key; nothing where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_algorithm: Option<EncryptionAlgorithm>,
}

impl Placement {
    /// The key in a catalog's data.
    pub const KEY: &'static str = "placement";

    /// The placement that a provider's catalog has; none for one that makes its machines itself.
    ///
    /// # Errors
    /// When it does not have the form.
    pub fn of(catalog: &serde_json::Value) -> Result<Option<Self>, serde_json::Error> {
        catalog.get(Self::KEY).map(|placement| serde_json::from_value(placement.clone())).transpose()
    }

    /// The key in a pinned catalog's data that asks for a placement on nodes that another tool has made.
    pub const ADOPTING: &'static str = "adopting";

    /// The key in a pinned catalog's data that asks for the placement of a cluster whose state is lost: its machines tell how
    /// it began.
    pub const REBUILDING: &'static str = "rebuilding";

    /// How long a token for joining is good for at least, and at most for twice as long.
    const TOKEN_LASTS: SignedDuration = SignedDuration::from_hours(24);

    /// What is left of a token that machines may still join with.
    const TOKEN_IS_ENOUGH: SignedDuration = SignedDuration::from_hours(2);

    /// When a token ends with which machines join now: the one that was pinned, as long as there is time enough, else the
    /// second midnight (UTC) from now. Plans of one day name the same end.
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

    /// Whether there is a machine that has to join, now or again: another tool has made all others.
    #[must_use]
    pub fn has_joining(&self) -> bool {
        self.machines.iter().any(|machine| machine.found.is_none())
    }

    /// The machine of a name.
    #[must_use]
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    /// The machine whose address is the control plane's endpoint, where one was elected.
    #[must_use]
    pub fn elected(&self) -> Option<&Machine> {
        self.machine(self.elected.as_deref()?)
    }
}
