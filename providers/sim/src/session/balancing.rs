//! Load balancers of Services.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use async_trait::async_trait;
use slipway_resource::ProviderError;
use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, Ingress, IngressPoint, IpFamily, IpMode,
    LoadBalancer, LoadBalancers, NodeTarget, PortProtocol,
};

use super::SimSession;
use crate::cloud::traffic::{Balancer, BalancerPort, key};
use crate::cloud::{Change, Machine, World};
use crate::error::{conflict, invalid, not_found};
use crate::fault::Call;

/// The rate class of all calls.
const RATE_CLASS: &str = "balance";

/// The annotation of a Service that chooses how its load balancer is reached: by an address of its own (`vip`, the default), by
/// the address of a proxy (`proxy`), or by a name (`hostname`).
const INGRESS: &str = "sim.slipway.dev/ingress";

#[async_trait]
impl LoadBalancers for SimSession {
    async fn get(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError> {
        let call = Call { method: "get-load-balancer", type_name: "", name: &key.service };
        let rules = self.begin(call, RATE_CLASS).await?;
        if let Some(error) = self.faults.unreadable(call) {
            return Err(error);
        }
        let found = self.cloud.read(&self.clock, |world, _| world.balancer(&world_key(key)).map(shown))?;
        self.end(call, &rules, RATE_CLASS)?;
        found.transpose()
    }

    async fn ensure(&self, desired: &DesiredBalancer) -> Result<LoadBalancer, ProviderError> {
        let call = Call { method: "ensure-load-balancer", type_name: "", name: &desired.key.service };
        let rules = self.begin(call, RATE_CLASS).await?;
        let balancer = self.cloud.write(&self.clock, |change| ensure(change, desired))?;
        self.end(call, &rules, RATE_CLASS)?;
        shown(&balancer)
    }

    async fn update(&self, desired: &DesiredBalancer) -> Result<(), ProviderError> {
        let call = Call { method: "update-load-balancer", type_name: "", name: &desired.key.service };
        let rules = self.begin(call, RATE_CLASS).await?;
        self.cloud.write(&self.clock, |change| {
            let existing = change.world().balancer(&world_key(&desired.key)).cloned();
            let Some(existing) = existing else {
                return Err(not_found(format!("there is no load balancer {}", desired.key.name)));
            };
            let machines = machines(change.world(), &desired.key.cluster, &desired.nodes)?;
            if existing.machines != machines {
                change.put_balancer(Balancer { machines, ..existing });
            }
            Ok(())
        })?;
        self.end(call, &rules, RATE_CLASS)
    }

    async fn delete(&self, key: &BalancerKey) -> Result<(), ProviderError> {
        let call = Call { method: "delete-load-balancer", type_name: "", name: &key.service };
        let rules = self.begin(call, RATE_CLASS).await?;
        self.cloud.write(&self.clock, |change| {
            let key = world_key(key);
            if change.world().balancer(&key).is_some() {
                change.remove_balancer(&key);
            }
            Ok(())
        })?;
        self.end(call, &rules, RATE_CLASS)
    }
}

fn world_key(balancer: &BalancerKey) -> String {
    key(&balancer.cluster, &balancer.name)
}

/// Creates or changes a load balancer. One that is as it is wanted is not written again.
fn ensure(change: &mut Change<'_>, desired: &DesiredBalancer) -> Result<Balancer, ProviderError> {
    let DesiredBalancer { key, service, nodes } = desired;
    let existing = change.world().balancer(&world_key(key)).cloned();
    let address = match (service.address, &existing) {
        (Some(address), _) => address.to_string(),
        (None, Some(existing)) => existing.address.clone(),
        (None, None) => free_address(change, service).to_string(),
    };
    let is_same = |other: &Balancer| other.cluster == key.cluster && other.name == key.name;
    let holder = change.world().balancers().find(|other| other.address == address && !is_same(other));
    if let Some(holder) = holder {
        return Err(conflict(format!("load balancer {} has the address {address}", holder.name)));
    }
    let balancer = Balancer {
        cluster: key.cluster.clone(),
        name: key.name.clone(),
        service: key.service.clone(),
        address,
        ports: service.ports.iter().map(port).collect::<Result<_, _>>()?,
        source_ranges: service.source_ranges.iter().map(ToString::to_string).collect(),
        client_affinity_seconds: service.client_affinity.map(|span| span.as_secs()),
        health_check_port: service.health_check_node_port,
        annotations: service.annotations.clone(),
        machines: machines(change.world(), &key.cluster, nodes)?,
        created_at: existing.as_ref().map_or_else(|| change.now(), |existing| existing.created_at),
    };
    shown(&balancer)?;
    if existing.as_ref() != Some(&balancer) {
        change.put_balancer(balancer.clone());
    }
    Ok(balancer)
}

/// An address that no load balancer has, of the first family of the Service.
fn free_address(change: &mut Change<'_>, service: &BalancedService) -> IpAddr {
    let serial = change.next_serial();
    let [.., high, low] = serial.to_be_bytes();
    match service.ip_families.first() {
        Some(IpFamily::V6) => {
            let low = u16::from_be_bytes([high, low]);
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, low).into()
        }
        Some(IpFamily::V4) | None => Ipv4Addr::new(198, 18, high, low).into(),
    }
}

fn port(port: &BalancedPort) -> Result<BalancerPort, ProviderError> {
    if port.protocol == PortProtocol::Sctp {
        return Err(invalid(format!("port {}: provider sim does not forward SCTP", port.port)));
    }
    Ok(BalancerPort {
        name: port.name.clone(),
        protocol: port.protocol.as_str().to_owned(),
        port: port.port,
        machine_port: port.node_port,
    })
}

/// The identities of the machines of nodes. A node whose machine does not exist is left out.
fn machines(world: &World, cluster: &str, nodes: &[NodeTarget]) -> Result<Vec<String>, ProviderError> {
    let mut found = Vec::new();
    for node in nodes {
        found.extend(machine_of(world, cluster, node)?.map(|machine| machine.id.clone()));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The machine of a node, by its provider id, or by its name among the machines of its cluster.
pub(super) fn machine_of<'w>(
    world: &'w World,
    cluster: &str,
    node: &NodeTarget,
) -> Result<Option<&'w Machine>, ProviderError> {
    match &node.provider_id {
        Some(id) => match Machine::id_of(id) {
            Some(id) => Ok(world.machine(id)),
            None => Err(invalid(format!("node {}: {id} is not a provider id of provider sim", node.node))),
        },
        None => Ok(world.machines().find(|machine| machine.cluster == cluster && machine.name == node.node)),
    }
}

/// A load balancer as its Service shows it.
fn shown(balancer: &Balancer) -> Result<LoadBalancer, ProviderError> {
    let ip = |mode| {
        let address = balancer.address.parse();
        let address = address.map_err(|_| invalid(format!("{} is not an IP address", balancer.address)))?;
        Ok(IngressPoint::Ip { address, mode })
    };
    let at = match balancer.annotations.get(INGRESS).map(String::as_str) {
        None | Some("vip") => ip(IpMode::Vip)?,
        Some("proxy") => ip(IpMode::Proxy)?,
        Some("hostname") => IngressPoint::Hostname(format!("{}.{}.lb.sim", balancer.name, balancer.cluster)),
        Some(other) => {
            return Err(invalid(format!(
                "annotation {INGRESS}: `{other}` is not `vip`, `proxy` or `hostname`"
            )));
        }
    };
    Ok(LoadBalancer { ingress: vec![Ingress { at, ports: Vec::new() }] })
}
