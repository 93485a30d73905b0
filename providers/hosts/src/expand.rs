//! The provider's own additions to a cluster: a claim and an agent for each machine.

use slipway_bootstrap::from_cluster::Placement;
use slipway_cluster_input::ClusterInput;
use slipway_provider_sdk::cluster::{self, Received};
use slipway_resource::provider::{ExpandNote, ExpandRequest, Expansion};
use slipway_resource::{Address, Desired, Path, ProviderError, Value};

use crate::error::invalid;
use crate::schema::{AGENT, CLAIM, HOST};

/// The claims and agents of a cluster's machines.
pub(crate) fn expand(request: ExpandRequest) -> Result<Expansion, ProviderError> {
    let Received { cluster, notes: unknown } = cluster::read(&request.cluster)?;
    let placement = Placement::of(&request.catalog.data)
        .map_err(|error| invalid(format!("the machines cannot be read: {error}")))?
        .unwrap_or_default();
    let mut resources = Vec::new();
    for machine in &placement.machines {
        let host = cluster.hosts.iter().find(|host| host.name == machine.name);
        let inventory = host.map_or("default", |host| host.inventory.as_str());
        let origin = format!("pools[{}].hosts", machine.pool);
        let claim = Address::new(CLAIM, machine.name.as_str());
        let attributes = Value::map([(HOST, machine.name.as_str()), ("inventory", inventory)]);
        let mut claimed = Desired::new(claim.clone(), attributes);
        claimed.origins.insert(Path::root(), origin.clone());
        let attributes = Value::map([(HOST, machine.name.as_str())]);
        let mut agent = Desired::new(Address::new(AGENT, machine.name.as_str()), attributes);
        agent.depends_on.push(claim);
        agent.origins.insert(Path::root(), origin);
        resources.extend([claimed, agent]);
    }
    resources.sort_by(|one, other| one.address.cmp(&other.address));
    let notes = notes(&cluster).into_iter().chain(unknown).collect();
    Ok(Expansion { resources, notes })
}

/// Notes on settings without an effect on existing machines.
fn notes(cluster: &ClusterInput) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    let mut note = |field: String, message: &str| {
        notes.push(ExpandNote { field, message: message.to_owned() });
    };
    if !cluster.cloud_labels.is_empty() {
        note("cloudLabels".to_owned(), "hosts that exist already carry no tags; it has no effect");
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.cloud_labels.is_empty()) {
        let field = format!("pools[{}].cloudLabels", pool.name);
        note(field, "hosts that exist already carry no tags; it has no effect");
    }
    for pool in cluster.pools.iter().filter(|pool| pool.size.is_autoscaled()) {
        let field = format!("pools[{}].size.bounds.max", pool.name);
        note(field, "nothing scales a pool of hosts: it has `min` hosts, and `max` has no effect");
    }
    for host in cluster.hosts.iter().filter(|host| host.lost) {
        note(
            format!("hosts[{}].lost", host.name),
            "Slipway does not connect to this host any more. Its node and its member of etcd are removed without it. Its \
             disks still hold keys of the cluster: wipe the machine before it is used again",
        );
    }
    for pool in &cluster.pools {
        if pool.hosts.is_none() && pool.role.is_node() {
            note(format!("pools[{}]", pool.name), "the pool selects no hosts, so that it has no nodes");
        }
    }
    notes
}
