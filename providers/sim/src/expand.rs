//! From a cluster to the typed resources of the simulated cloud. Pure.

use slipway_resource::ProviderError;
use slipway_resource::provider::{ExpandRequest, Expansion};

use crate::config::Config;

/// What only the cloud knows: zones, machine types, images.
pub(crate) fn catalog(config: &Config) -> serde_json::Value {
    serde_json::json!({
        "zones": config.zones,
        "machineTypes": config.machine_types,
        "images": { "amd64": "sim-linux-stable", "arm64": "sim-linux-stable-arm64" },
    })
}

/// The resources of a cluster.
pub(crate) fn expand(_config: &Config, _request: &ExpandRequest) -> Result<Expansion, ProviderError> {
    Ok(Expansion::default())
}
