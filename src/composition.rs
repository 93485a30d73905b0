//! Which providers work on one cluster: its own, and those that are linked in; and what the core makes of the machines
//! that a provider has.

mod addons;
#[allow(clippy::disallowed_methods, reason = "the user's own cache")]
mod fetch;

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_bootstrap::configuration::LocalEndpoint;
use slipway_bootstrap::from_cluster::{self, Placement};
use slipway_builtin::{Builtin, Vault};
use slipway_engine::WaitHandler;
use slipway_plan::{Providers, Snapshot};
use slipway_provider_kubernetes::Kubernetes;
use slipway_resource::provider::{Catalog, ExpandNote, SessionRequest};
use slipway_resource::{Desired, Schema, Value};
use slipway_spec::model::{Cluster, Host, Role};

use crate::access::ClusterAccess;
use crate::error::CommandError;
use crate::providers;
use crate::specs::Wanted;

pub(crate) use addons::{ManifestSecrets, Manifests, SOURCE as MANIFEST_SOURCE};

/// The attribute of what is on one host.
const HOST: &str = "host";

/// Whether a provider does the work inside machines that exist already: it then has the types of a node, for many
/// hosts. What is in those machines is then the core's to say.
pub(crate) fn works_on_hosts(schema: &Schema) -> bool {
    schema.types.get("file").is_some_and(|kind| kind.attributes.contains_key(HOST))
}

/// Adds what a cluster needs beside its own provider.
pub(crate) async fn complete(
    waits: WaitHandler,
    providers: &mut Providers,
    vault: &Arc<Vault>,
    access: &Arc<ClusterAccess>,
    offline: bool,
) -> Result<(), CommandError> {
    if !providers.iter().any(|(_, handle)| works_on_hosts(&handle.schema)) {
        return Ok(());
    }
    let request = || SessionRequest { config: Value::Null, region: None, offline };
    providers::add(waits.clone(), providers, slipway_builtin::NAME, &Builtin::new(vault.clone()), request())
        .await?;
    let kubernetes = Kubernetes::new(access.clone());
    providers::add(waits, providers, providers::KUBERNETES, &kubernetes, request()).await
}

/// What a provider of hosts is told beside the user's settings, where its configuration has a place for it: the hosts of
/// the specs, also those that the cluster has still and the specs no longer, where inventories are, and whether the whole
/// cluster goes.
pub(crate) fn told(
    schema: &Schema,
    cluster: &Cluster,
    prior: Option<&Snapshot>,
    state: Option<&str>,
    leaving: bool,
) -> Result<BTreeMap<String, serde_json::Value>, CommandError> {
    let mut told = BTreeMap::new();
    if schema.config.contains_key("hosts") {
        let recorded: Option<Cluster> =
            prior.and_then(|prior| serde_json::from_value(prior.spec.clone()).ok());
        let mut hosts: Vec<Host> = cluster.all_hosts();
        // An interrupted run has recorded its own spec already; where the machines were is pinned until it is through.
        let pinned = prior.into_iter().flat_map(|prior| prior.catalogs.values()).filter_map(|catalog| {
            let hosts = catalog.data.get("hosts")?.clone();
            serde_json::from_value::<Vec<Host>>(hosts).ok()
        });
        for host in recorded.iter().flat_map(Cluster::all_hosts).chain(pinned.flatten()) {
            if hosts.iter().all(|known| known.name != host.name) {
                hosts.push(host);
            }
        }
        let hosts = serde_json::to_value(hosts)
            .map_err(|error| CommandError::internal("the hosts cannot be written as JSON", &error))?;
        told.insert("hosts".to_owned(), hosts);
    }
    if let Some(state) = state.filter(|_| schema.config.contains_key("state")) {
        told.insert("state".to_owned(), state.into());
    }
    if leaving && schema.config.contains_key("leaving") {
        told.insert("leaving".to_owned(), true.into());
    }
    Ok(told)
}

/// The resources of a cluster on the machines of a catalog; none for a provider that makes its machines itself.
pub(crate) async fn expand(
    catalog: &Catalog,
    own: &[Desired],
    manifests: Manifests<'_>,
) -> Result<(Vec<Desired>, Vec<ExpandNote>), CommandError> {
    let Some(placement) = placement(catalog)? else { return Ok((Vec::new(), Vec::new())) };
    let cluster = &manifests.wanted.cluster;
    let user = addons::objects(manifests).await?;
    let expanded = from_cluster::expand(cluster, &placement, &user).map_err(|error| {
        let mut failure = CommandError::new(error.code(), error.to_string());
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            failure = failure.cause(inner.to_string());
            cause = inner.source();
        }
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let mut resources = expanded.resources;
    // What is on a host comes after what the provider itself does about that host.
    for desired in &mut resources {
        let Some(host) = desired.attributes.get(HOST).and_then(Value::as_str) else { continue };
        let before = own.iter().filter(|own| own.attributes.get(HOST).and_then(Value::as_str) == Some(host));
        desired.depends_on.extend(before.map(|own| own.address.clone()));
    }
    Ok((resources, expanded.notes))
}

/// Refuses what a spec asks for and machines that exist cannot have: everything at once, each where it is written.
///
/// # Errors
/// When there is such a field.
pub(crate) fn refuse_without_effect(wanted: &Wanted) -> Result<(), CommandError> {
    let found = from_cluster::without_effect(wanted.sources.paths());
    if found.is_empty() {
        return Ok(());
    }
    let fields = if found.len() == 1 { "a field has" } else { "fields have" };
    let text = format!(
        "{}: {fields} no effect on machines that exist already; nothing was done",
        wanted.cluster.name
    );
    let mut error = CommandError::new("HOST0001", text);
    for unused in &found {
        let place = wanted.place(&unused.field).map(ToString::to_string).unwrap_or_default();
        error = error.cause(format!("{place}: {}: {}", unused.field, unused.why));
    }
    Err(error.hint("remove these fields, or do what stands behind each of them"))
}

/// Where the API of a cluster may be reached, the best first.
pub(crate) fn endpoints(cluster: &Cluster, catalogs: &BTreeMap<String, Catalog>) -> Vec<LocalEndpoint> {
    let placements = catalogs.values().filter_map(|catalog| placement(catalog).ok().flatten());
    let mut endpoints = Vec::new();
    for placement in placements {
        endpoints.extend(from_cluster::endpoint(cluster, &placement).ok());
        let control_planes = placement.machines.iter().filter(|machine| {
            cluster.pool(&machine.pool).is_some_and(|pool| pool.role == Role::ControlPlane)
        });
        for machine in control_planes {
            let own = LocalEndpoint { host: machine.address.to_string(), port: 6443 };
            if !endpoints.contains(&own) {
                endpoints.push(own);
            }
        }
    }
    endpoints
}

/// Whether a state has an API: a server of it, or anything behind it. All servers may be lost while what they serve is known.
pub(crate) fn has_api(prior: &Snapshot) -> bool {
    prior.resources.iter().any(|(address, record)| {
        record.provider == providers::KUBERNETES
            || address.kind() == "static_pod" && address.name().ends_with("/kube-apiserver")
    })
}

pub(crate) fn placement(catalog: &Catalog) -> Result<Option<Placement>, CommandError> {
    Placement::of(&catalog.data)
        .map_err(|error| CommandError::internal("the machines of the provider cannot be read", &error))
}
