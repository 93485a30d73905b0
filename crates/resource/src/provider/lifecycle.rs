//! The description of a provider, and the scope of a session.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::Value;

/// The name of the executable of a provider: `slipway-provider-<name>`.
#[must_use]
pub fn executable_name(provider: &str) -> String {
    format!("slipway-provider-{provider}")
}

/// Name, version and limits of a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Info {
    /// Its name, as in `slipway-provider-<name>`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Pace limits by rate class.
    pub rate_classes: BTreeMap<String, RateClass>,
    /// How many objects one read or plan call may name at most.
    pub batch: u32,
    /// The optional parts of the contract that the provider has.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// The optional parts of the contract that a provider has. The engine uses no part that is not declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Whether the provider works inside existing machines. Its catalog then names these machines, its types contain those
    /// of a node, and the core returns the resources inside the machines.
    #[serde(default)]
    pub hosts: bool,
    /// Whether [`Session::dry_run`](super::Session::dry_run) answers.
    #[serde(default, rename = "rehearse")]
    pub dry_run: bool,
    /// Whether [`Session::price`](super::Session::price) answers.
    #[serde(default)]
    pub price: bool,
    /// Whether [`Session::nodes`](super::Session::nodes) answers. One type of the provider then has the part
    /// [`Part::Node`](crate::schema::Part::Node) and the operations `verify`, `cordon` and `drain`.
    #[serde(default)]
    pub nodes: bool,
    /// Whether [`Session::bootstrap_credential`](super::Session::bootstrap_credential) and
    /// [`Session::verify_node`](super::Session::verify_node) answer.
    #[serde(default)]
    pub node_identity: bool,
    /// Whether [`Session::instances`](super::Session::instances) answers.
    #[serde(default)]
    pub instances: bool,
    /// Whether [`Session::load_balancers`](super::Session::load_balancers) returns some.
    #[serde(default)]
    pub load_balancers: bool,
    /// Whether [`Session::routes`](super::Session::routes) returns some.
    #[serde(default)]
    pub routes: bool,
}

/// The pace of one class of calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateClass {
    /// Calls under way at once.
    pub concurrency: u32,
    /// Calls begun in a second; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
}

/// How to open a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The provider's configuration from the spec, by its schema.
    pub config: Value,
    /// The region, where the provider has regions.
    pub region: Option<String>,
    /// Whether the session plans without the cloud: only `catalog`, `expand` and `plan` are called then, and
    /// no credentials are needed.
    pub offline: bool,
}

/// On which terms a session is opened, beside what its configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whether the session only looks: nothing is written, also not what the provider keeps for itself.
    pub read_only: bool,
    /// The settings that the one who runs Slipway vouches for; all others are a spec's, which may be a stranger's.
    pub from_caller: BTreeSet<String>,
    /// Networks, addresses and names in which the one who runs Slipway allows servers whose addresses are reserved.
    pub networks: Vec<String>,
}

/// The account and region of a session: state made in one is refused in another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The account as the provider calls it; empty offline.
    pub account: String,
    /// The region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}
