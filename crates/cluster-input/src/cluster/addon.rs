use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::Amount;

/// Something that is installed in the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Addon {
    /// The add-on's name, as in `coredns` or `metrics-server`; unique in the cluster.
    pub name: String,
    /// Whether it is installed; `false` removes it, also one that is on by default.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its version; absent takes the one that belongs to the Kubernetes release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many replicas it runs; absent lets the add-on decide by the size of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::REPLICAS))]
    pub replicas: Option<u32>,
    /// How many replicas stay up during disruptions, kept by a PodDisruptionBudget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_available: Option<Amount>,
    /// The add-on's own settings; checked by the add-on.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::opaque")]
    pub config: serde_json::Value,
    /// Where your own add-on's objects come from; absent for the add-ons that Slipway brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
}

const fn yes() -> bool {
    true
}

/// Where an add-on's objects come from. A mapping with exactly one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Manifest {
    /// A file, relative to the spec file that names it.
    File(String),
    /// A URL, with the SHA-256 of what it must deliver.
    Url {
        /// The URL, `https` only.
        url: String,
        /// The SHA-256 of the content, 64 hexadecimal digits.
        sha256: String,
    },
}
