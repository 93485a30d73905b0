//! The providers of one cluster: its own, and those that are linked in; and the resources that the core adds for the
//! machines of a provider.

mod addons;
mod cluster_api;
mod manifests;

use std::collections::BTreeMap;

use slipway_bootstrap::configuration::LocalEndpoint;
use slipway_bootstrap::from_cluster::{self, Placement};
use slipway_cluster_input::{ClusterInput, Host};
use slipway_generated_secrets::{ENCRYPTION_KEY, KEYPAIR};
use slipway_plan::{Providers, Record, Snapshot};
use slipway_provider_kubernetes::{API, ApiEndpoint, OBJECT};
use slipway_resource::provider::{Capabilities, Catalog, ExpandNote};
use slipway_resource::schema::Part;
use slipway_resource::{Desired, Schema, SecretText};
use slipway_secrets::store::SecretReference;
use slipway_spec::model::{Cluster, Role};

use crate::error::Error;
use crate::providers;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

pub(crate) use addons::{Manifests, SOURCE as MANIFEST_SOURCE, objects as user_objects};
pub(crate) use cluster_api::cluster_api;

/// Whether one of the providers works inside existing machines.
pub(crate) fn has_hosts(providers: &Providers) -> bool {
    providers.iter().any(|(_, handle)| handle.info.capabilities.hosts)
}

/// The resources that the core adds for the machines of a provider.
#[derive(Default)]
pub(crate) struct Inside {
    /// The resources.
    pub resources: Vec<Desired>,
    /// Remarks on the spec.
    pub notes: Vec<ExpandNote>,
    /// The texts of secrets in manifests, by the rest of their sources.
    pub secrets: BTreeMap<String, SecretText>,
}

/// The settings that a provider which works inside existing machines gets beside the settings of the user: the hosts of the
/// specs and those that the cluster still has, and the place of the inventories.
pub(crate) fn core_settings(
    capabilities: Capabilities,
    cluster: &Cluster,
    prior: Option<&Snapshot>,
    state: Option<&str>,
) -> Result<BTreeMap<String, serde_json::Value>, Error> {
    let mut settings = BTreeMap::new();
    if !capabilities.hosts {
        return Ok(settings);
    }
    let hosts = serde_json::to_value(hosts(cluster, prior)?)
        .map_err(|error| Error::internal("the hosts cannot be written as JSON", error))?;
    settings.insert("hosts".to_owned(), hosts);
    if let Some(state) = state {
        settings.insert("state".to_owned(), state.into());
    }
    Ok(settings)
}

/// The setting that tells a provider that the whole cluster is deleted, for every provider whose
/// configuration has it. Resources that are deleted with the cluster then need fewer calls.
pub(crate) fn leaving(schema: &Schema) -> Option<(String, serde_json::Value)> {
    let name = "leaving";
    schema.config.contains_key(name).then(|| (name.to_owned(), true.into()))
}

/// The hosts of a cluster in the form of the contract: those of the spec, those of the recorded spec, and
/// those that the provider has pinned. An interrupted run has already recorded its own spec; the earlier
/// placement of machines stays pinned until it is complete.
fn hosts(cluster: &Cluster, prior: Option<&Snapshot>) -> Result<Vec<Host>, Error> {
    let mut hosts: Vec<Host> = cluster.all_hosts().into_iter().map(Into::into).collect();
    let Some(prior) = prior else { return Ok(hosts) };
    let recorded = spec_of(prior)?;
    let mut known: Vec<Host> = recorded.iter().flat_map(Cluster::all_hosts).map(Into::into).collect();
    for pinned in prior.catalogs.values().filter_map(|catalog| catalog.data.get("hosts")) {
        let pinned = serde_json::from_value::<Vec<Host>>(pinned.clone())
            .map_err(|source| Error::UnreadableHosts { cluster: prior.cluster.clone(), source })?;
        known.extend(pinned);
    }
    for host in known {
        if hosts.iter().all(|other| other.name != host.name) {
            hosts.push(host);
        }
    }
    Ok(hosts)
}

/// The resources of a cluster on the machines of a catalog; none for a provider that makes its machines itself.
pub(crate) async fn expand(
    catalog: &Catalog,
    own: &[Desired],
    manifests: Manifests<'_>,
) -> Result<Inside, Error> {
    let Some(placement) = placement(catalog)? else { return Ok(Inside::default()) };
    let cluster = &manifests.spec.cluster;
    let user = addons::objects(manifests).await?;
    let expanded = from_cluster::expand(&cluster.into(), &placement, &user.objects)?;
    let resources = from_cluster::after_claims(expanded.resources, own);
    Ok(Inside { resources, notes: expanded.notes, secrets: user.secrets })
}

/// Refuses fields that have no effect on existing machines: all of them at once, each with its position. A field with the value
/// that it has by default asks for nothing.
///
/// # Errors
/// When there is such a field.
pub(crate) fn refuse_without_effect(spec: &ClusterSpec) -> Result<(), Error> {
    let mut found = beyond_defaults(&spec.cluster, from_cluster::without_effect(spec.sources.paths()));
    let message = ClusterInput::from(&spec.cluster);
    found.extend(from_cluster::programs_without_effect(&message));
    found.extend(from_cluster::hooks_without_effect(&message));
    // Nothing stops the way back from a release whose images the spec names.
    if spec.cluster.turned_back_from.is_none() {
        found.extend(from_cluster::images_without_effect(&message));
    }
    if found.is_empty() {
        return Ok(());
    }
    let describe = |unused: &from_cluster::WithoutEffect| {
        let place = spec.place(&unused.field).map(ToString::to_string).unwrap_or_default();
        format!("{place}: {}: {}", unused.field, unused.why)
    };
    let fields = found.iter().map(describe).collect();
    Err(Error::WithoutEffect { cluster: spec.cluster.name.to_string(), fields })
}

/// Those of the fields whose values are not the defaults, as in a spec that lists all of them.
fn beyond_defaults(
    cluster: &Cluster,
    found: Vec<from_cluster::WithoutEffect>,
) -> Vec<from_cluster::WithoutEffect> {
    if found.is_empty() {
        return found;
    }
    let fields: Vec<&str> = found.iter().map(|unused| unused.field.as_str()).collect();
    let Ok(are_defaults) = slipway_spec::show::are_defaults(cluster, &fields) else { return found };
    found
        .into_iter()
        .zip(are_defaults)
        .filter(|(_, is_default)| !is_default)
        .map(|(unused, _)| unused)
        .collect()
}

/// Whether machines that exist run kubelets that the spec lists.
pub(crate) fn lists_kubelet(cluster: &Cluster) -> bool {
    from_cluster::lists_kubelet(&ClusterInput::from(cluster).assets.programs)
}

/// Addresses at which the API of a cluster may be reached, the preferred one first.
pub(crate) fn endpoints(cluster: &Cluster, catalogs: &BTreeMap<String, Catalog>) -> Vec<LocalEndpoint> {
    let placements = catalogs.values().filter_map(|catalog| placement(catalog).ok().flatten());
    let message = ClusterInput::from(cluster);
    let mut endpoints = Vec::new();
    for placement in placements {
        endpoints.extend(from_cluster::endpoint(&message, &placement).ok());
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

/// The address of the API that the machines of a provider serve, once the API has answered there.
pub(crate) fn answered(prior: &Snapshot) -> Vec<LocalEndpoint> {
    let apis = prior.resources.iter().filter(|(address, _)| address.kind() == API);
    let endpoints = apis.filter_map(|(_, record)| ApiEndpoint::of_identity(&record.identity));
    endpoints.map(|ApiEndpoint { host, port }| LocalEndpoint { host, port }).collect()
}

/// Whether a state has objects inside of its cluster.
pub(crate) fn has_objects(prior: &Snapshot) -> bool {
    prior.resources.values().any(|record| record.provider == providers::KUBERNETES)
}

/// Whether a state has an API: a server of it, or an object behind it. The state may know objects whose servers are all lost.
pub(crate) fn has_api(own: &Providers, prior: &Snapshot) -> bool {
    prior.resources.iter().any(|(address, record)| {
        record.provider == providers::KUBERNETES || own.part(address) == Some(Part::ApiServer)
    })
}

/// Whether a state has keys of its cluster.
pub(crate) fn has_keys(prior: &Snapshot) -> bool {
    prior.resources.values().any(|record| record.provider == slipway_generated_secrets::NAME)
}

/// The token under which an adoption stores the keys that it found.
pub(crate) const ADOPTED: &str = "adopt";

/// Whether a resource is a key of another tool, which an adoption has stored.
pub(crate) fn is_adopted_key(record: &Record) -> bool {
    let reference = record.identity.as_str().parse::<SecretReference>();
    record.provider == slipway_generated_secrets::NAME
        && reference.is_ok_and(|reference| reference.token == ADOPTED)
}

/// Whether machines that a provider makes get the keys of their cluster from its state. Those of an adopted cluster do not, as long
/// as the state does not have its API.
pub(crate) fn gives_keys(prior: &Snapshot) -> bool {
    has_keys(prior) && (has_objects(prior) || !prior.resources.values().any(is_adopted_key))
}

/// Whether a resource is a key that the state of the cluster keeps.
pub(crate) fn is_key(desired: &Desired) -> bool {
    [KEYPAIR, ENCRYPTION_KEY].contains(&desired.address.kind())
}

/// The providers that are linked in for a cluster whose machines a provider makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The one of objects inside the cluster.
    pub objects: bool,
    /// The one of keys in the state.
    pub keys: bool,
}

impl Linked {
    /// Those that the resources of a state need.
    pub fn of_state(prior: Option<&Snapshot>) -> Self {
        Self { objects: prior.is_some_and(has_objects), keys: prior.is_some_and(has_keys) }
    }

    /// Those that desired resources need too.
    pub fn and_of(self, desired: &[Desired]) -> Self {
        Self {
            objects: self.objects || desired.iter().any(is_inside),
            keys: self.keys || desired.iter().any(is_key),
        }
    }
}

/// Whether a resource is inside a cluster whose machines a provider makes: its API, or an object behind it.
pub(crate) fn is_inside(desired: &Desired) -> bool {
    is_api(desired) || desired.address.kind() == OBJECT
}

/// Whether a resource is the API of a cluster.
pub(crate) fn is_api(desired: &Desired) -> bool {
    desired.address.kind() == API
}

/// The machines of a catalog; none for a provider that makes its machines itself.
pub(crate) fn placement(catalog: &Catalog) -> Result<Option<Placement>, Error> {
    Placement::of(&catalog.data)
        .map_err(|error| Error::internal("the machines of the provider cannot be read", error))
}

/// The same catalog with another placement of its machines.
pub(crate) fn with_placement(catalog: &Catalog, placement: &Placement) -> Result<Catalog, Error> {
    let mut data = catalog.data.clone();
    let placement = serde_json::to_value(placement)
        .map_err(|error| Error::internal("the machines of the provider cannot be written", error))?;
    if let Some(fields) = data.as_object_mut() {
        fields.insert(Placement::KEY.to_owned(), placement);
    }
    Ok(Catalog::new(&data)?)
}
