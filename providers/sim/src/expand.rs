//! From a cluster to the typed resources of the simulated cloud. Pure.

mod addon;
mod build;
mod endpoint;
mod etcd;
mod identity;
mod load;
mod network;
mod node;
mod policy;
mod pool;
mod security;
mod topology;

use slipway_cluster_input::ClusterInput;
use slipway_provider_sdk::cluster::{self, Received};
use slipway_resource::provider::{ExpandRequest, Expansion};
use slipway_resource::{Address, ErrorClass, ProviderError};

use crate::config::{Config, Load};
use crate::error::invalid;
use build::Builder;

/// The facts that only the cloud knows: zones, machine types, images.
pub(crate) fn catalog(config: &Config) -> serde_json::Value {
    serde_json::json!({
        "zones": config.zones,
        "machineTypes": config.machine_types,
        "images": { "amd64": AMD64_IMAGE, "arm64": ARM64_IMAGE },
    })
}

const AMD64_IMAGE: &str = "sim-linux-stable";
const ARM64_IMAGE: &str = "sim-linux-stable-arm64";

/// The resources of a cluster.
pub(crate) fn expand(config: &Config, request: &ExpandRequest) -> Result<Expansion, ProviderError> {
    let Received { cluster, notes: unknown } = cluster::read(&request.cluster)?;
    let load = load_of(config, &cluster)?;
    let mut builder = Builder::new(&cluster, &request.catalog.data);
    network::network(&mut builder);
    identity::identities(&mut builder);
    let endpoint = endpoint::endpoint(&mut builder)?;
    security::groups(&mut builder, &endpoint);
    etcd::volumes_and_backups(&mut builder);
    pool::pools(&mut builder, &endpoint);
    addon::addons(&mut builder);
    if let Some(load) = load {
        load::objects(&mut builder, &load);
    }
    notes(&mut builder);
    for note in unknown {
        builder.note(note.field, note.message);
    }
    builder.finish()
}

fn load_of(config: &Config, cluster: &ClusterInput) -> Result<Option<Load>, ProviderError> {
    match cluster.provider.config.get("objects") {
        Some(objects) if !objects.is_null() => serde_json::from_value(objects.clone())
            .map_err(|error| invalid(format!("provider.config.objects: {error}")))
            .and_then(|load: Load| match load.problem() {
                Some(problem) => Err(invalid(format!("provider.config.{problem}"))),
                None => Ok(Some(load)),
            }),
        _ => Ok(config.objects.clone()),
    }
}

/// Fields that have no effect on this cloud.
fn notes(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    if !cluster.labels.is_empty() {
        let labels = listed(&cluster.labels);
        builder.note(
            "labels",
            format!("{labels} select the cluster; they reach neither the cloud nor the nodes"),
        );
    }
    for pool in &cluster.pools {
        let field = |name: &str| format!("pools[{}].{name}", pool.name);
        if !pool.labels.is_empty() {
            let labels = listed(&pool.labels);
            let message = format!("{labels} select the pool; they reach neither the cloud nor the nodes");
            builder.note(field("labels"), message);
        }
        if pool.hosts.is_some() {
            builder
                .note(field("hosts"), "provider sim makes machines of its own in place of hosts that exist");
        }
    }
}

fn listed(labels: &std::collections::BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

fn address(kind: &str, name: &str) -> Address {
    Address::new(kind, name)
}

/// A cluster that asks for what cannot be.
fn refuse(field: &str, message: &str) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, format!("{field}: {message}"))
}
