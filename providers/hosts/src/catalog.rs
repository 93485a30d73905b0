//! The catalog: the machines of a cluster and the facts read on them, pinned in the state.

mod balancer;

use std::collections::BTreeMap;

use futures_util::future::join_all;
use jiff::Timestamp;
use slipway_bootstrap::from_cluster::{self, FoundNode, Founder, Machine, Placement, settings_of_proxies};
use slipway_cluster_input::{ClusterInput, Endpoint, Host, Role};
use slipway_provider_sdk::cluster;
use slipway_resource::ProviderError;
use slipway_resource::provider::{Catalog, CatalogRequest};

use crate::assign::{Assigned, Known, assign};
use crate::error::{about_host, invalid, permanent, together};
use crate::facts::{self, Seen, SeenNode};
use crate::session::HostsSession;

impl HostsSession {
    /// The machines of a cluster. Earlier machines and the facts read on them are kept.
    pub(crate) async fn place(&self, request: CatalogRequest) -> Result<Catalog, ProviderError> {
        let cluster = cluster::read(&request.cluster)?.cluster;
        let asks = |key: &str| request.pinned.as_ref().is_some_and(|pinned| pinned.data[key] == true);
        let (adopting, rebuilding) = (asks(Placement::ADOPTING), asks(Placement::REBUILDING));
        let pinned = match &request.pinned {
            Some(catalog) => Placement::of(&catalog.data)
                .map_err(|error| invalid(format!("the machines in the state cannot be read: {error}")))?,
            None => None,
        };
        let hosts = cluster.all_hosts();
        let claims = match &self.inventory {
            Some(inventory) => inventory.claims().await?,
            None => BTreeMap::new(),
        };
        let taken = claims.into_iter().map(|(place, claim)| (place, claim.cluster)).collect();
        let known = Known { cluster: &cluster, hosts: &hosts, pinned: pinned.as_ref(), taken: &taken };
        let assigned = assign(&known)?;
        let (mut machines, mut nodes, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for machine in
            join_all(assigned.iter().map(|one| self.machine(*one, &cluster, pinned.as_ref(), adopting))).await
        {
            match machine {
                Ok((machine, node)) => {
                    machines.push(machine);
                    nodes.push(node);
                }
                Err(error) => failed.push(error),
            }
        }
        // The errors of all machines are reported at once, before any change.
        if let Some(failure) = together(failed) {
            return Err(failure);
        }
        let mut elected = elected(&cluster, &assigned, pinned.as_ref());
        if rebuilding {
            elected = elected.map(|first| sent_to(&machines, &nodes).unwrap_or(first));
            began_as_told(&mut machines, &nodes);
        }
        let founders = match &pinned {
            Some(pinned) => pinned.founders.clone(),
            None if adopting => machines.iter().find_map(began_with).unwrap_or_default(),
            None if rebuilding => founders_told(&nodes).unwrap_or_else(|| founders(&cluster, &machines)),
            None => founders(&cluster, &machines),
        };
        let proxies_found = pinned.as_ref().and_then(|pinned| pinned.proxies_found.clone());
        let key_algorithm = match &pinned {
            Some(pinned) => pinned.key_algorithm,
            None => machines.iter().find_map(|machine| machine.found.as_ref()?.key_algorithm),
        };
        let token_ended = pinned.as_ref().and_then(|pinned| pinned.join_token_ends);
        let has_balancer = match (&pinned, adopting, rebuilding) {
            (Some(pinned), ..) => pinned.balancer,
            (None, true, _) => None,
            (None, false, true) => balancer::of_nodes(&nodes),
            (None, false, false) => balancer::of_new(&cluster, founders.len()),
        };
        let mut placement = Placement {
            machines,
            elected,
            balancer: balancer::as_asked(cluster.control_plane.node_local_balancer, has_balancer),
            founders,
            proxies_found,
            key_algorithm,
            join_token_ends: self.end_of_join_token(token_ended),
            is_join_token_endless: pinned.is_some() && token_ended.is_none() && !self.offline,
            rotations: pinned.as_ref().map(|pinned| pinned.rotations.clone()).unwrap_or_default(),
        };
        if adopting {
            // If the cluster cannot be expanded, the expansion reports the error.
            let expanded = from_cluster::expand(&cluster, &placement, &[]).unwrap_or_default();
            let digest = settings_of_proxies(&expanded.resources);
            placement.proxies_found = digest.map(|digest| digest.as_str().to_owned());
        }
        // A host that leaves the specs is entered once more to be given back.
        let described: Vec<&Host> = assigned.iter().map(|one| one.host).collect();
        catalog(&placement, &described)
    }

    fn end_of_join_token(&self, pinned: Option<Timestamp>) -> Option<Timestamp> {
        match self.offline {
            // A plan that enters no machine is for reading, and says nothing of the time.
            true => pinned,
            false => Placement::end_of_join_token(pinned, Timestamp::now()),
        }
    }

    async fn machine(
        &self,
        Assigned { host, pool }: Assigned<'_>,
        cluster: &ClusterInput,
        pinned: Option<&Placement>,
        adopting: bool,
    ) -> Result<(Machine, Option<SeenNode>), ProviderError> {
        let rule = pool.hosts.as_ref().map(|selection| selection.address.clone()).unwrap_or_default();
        let address = rule.choose(host).ok_or_else(|| {
            invalid(format!("the host {} has no address that the pool {} allows", host.name, pool.name))
                .with_field(format!("hosts[{}].addresses", host.name))
        })?;
        let before = pinned.and_then(|pinned| pinned.machine(&host.name));
        let seen = match before {
            Some(before) => {
                Seen { facts: before.facts.clone(), cri_sockets: before.cri_sockets.clone(), node: None }
            }
            None if self.offline => facts::of_unseen(host, &self.config),
            None => self.agents.look(&host.name).await.map_err(|error| about_host(error, &host.name))?,
        };
        let reported = seen.node.clone();
        let node = seen.node.filter(|_| adopting);
        let used = node.as_ref().and_then(|node| node.cri_socket.clone());
        let began = node.as_ref().map_or(pinned.is_none(), |node| !node.joined);
        let machine = Machine {
            name: host.name.clone(),
            pool: pool.name.clone(),
            address,
            zone: host.zone.clone(),
            region: host.region.clone(),
            node_labels: host.node_labels.clone(),
            founding: before.map_or(began, |before| before.founding),
            rejoins: before.is_some_and(|before| before.rejoins),
            facts: seen.facts,
            cri_sockets: used.map_or(seen.cri_sockets, |used| vec![used]),
            kubelet_is_named: before.is_some_and(|before| before.kubelet_is_named)
                || from_cluster::lists_kubelet(&cluster.assets.programs),
            programs_from_start: before.and_then(|before| before.programs_from_start).or_else(|| {
                let is_listed = from_cluster::lists_installed(&cluster.assets.programs);
                is_listed.then_some(before.is_none() && !adopting)
            }),
            found: before.map(|before| before.found.clone()).unwrap_or(node.map(found)),
        };
        Ok((machine, reported))
    }
}

/// Which machines a cluster began with, when its state is lost and some of them are nodes.
fn began_as_told(machines: &mut [Machine], nodes: &[Option<SeenNode>]) {
    if nodes.iter().all(Option::is_none) {
        return;
    }
    for (machine, node) in machines.iter_mut().zip(nodes) {
        machine.founding = node.as_ref().is_some_and(|node| !node.joined);
    }
}

/// The machine that kubelets are sent to.
fn sent_to(machines: &[Machine], nodes: &[Option<SeenNode>]) -> Option<String> {
    let server = nodes.iter().flatten().find_map(|node| node.server)?;
    machines.iter().find(|machine| machine.address == server).map(|machine| machine.name.clone())
}

/// The founding members of etcd, from a node that was one of them.
fn founders_told(nodes: &[Option<SeenNode>]) -> Option<Vec<Founder>> {
    let began = nodes.iter().flatten().find(|node| !node.joined && !node.etcd_members.is_empty());
    began.map(|node| node.etcd_members.clone())
}

fn found(node: SeenNode) -> FoundNode {
    FoundNode { etcd_members: node.etcd_members, key_algorithm: node.key_algorithm }
}

/// The control planes with which a cluster began, from the facts of one of them.
fn began_with(machine: &Machine) -> Option<Vec<Founder>> {
    let found = machine.found.as_ref().filter(|found| machine.founding && !found.etcd_members.is_empty())?;
    Some(found.etcd_members.clone())
}

/// The control planes of a new cluster.
fn founders(cluster: &ClusterInput, machines: &[Machine]) -> Vec<Founder> {
    let is_control_plane =
        |machine: &&Machine| cluster.pool(&machine.pool).is_some_and(|pool| pool.role == Role::ControlPlane);
    let founder = |machine: &Machine| Founder { name: machine.name.clone(), address: machine.address };
    machines.iter().filter(is_control_plane).map(founder).collect()
}

/// The control plane whose address is the endpoint: the earlier one while it exists, otherwise an earlier
/// control plane, by name. For a new cluster, the first one.
fn elected(cluster: &ClusterInput, assigned: &[Assigned<'_>], pinned: Option<&Placement>) -> Option<String> {
    if !matches!(cluster.control_plane.endpoint, Endpoint::Elected {}) {
        return None;
    }
    let was_there = |name: &str| pinned.is_some_and(|pinned| pinned.machine(name).is_some());
    let was_elected = |name: &str| pinned.is_some_and(|pinned| pinned.elected.as_deref() == Some(name));
    let mut standing: Vec<&str> = assigned
        .iter()
        .filter(|one| one.pool.role == Role::ControlPlane)
        .map(|one| one.host.name.as_str())
        .collect();
    standing.sort_by_key(|name| (!was_elected(name), !was_there(name), *name));
    standing.first().map(|name| (*name).to_owned())
}

pub(crate) fn catalog(placement: &Placement, hosts: &[&Host]) -> Result<Catalog, ProviderError> {
    let failed = |error: serde_json::Error| permanent(error.to_string());
    let placement = serde_json::to_value(placement).map_err(failed)?;
    let hosts = serde_json::to_value(hosts).map_err(failed)?;
    Catalog::new(&serde_json::json!({ (Placement::KEY): placement, "hosts": hosts }))
}
