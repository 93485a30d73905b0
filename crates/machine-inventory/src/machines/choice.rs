//! The choice of a host for a machine.

use std::collections::HashSet;
use std::sync::Arc;

use super::Work;
use crate::api::{ElementalHost, ElementalMachine, Endpoint};
use crate::election::Elected;
use crate::labels::{FAILURE_DOMAIN, label};
use crate::selector::matches;
use crate::world::{World, name, namespace, uid};

/// The hosts that machines have named, by namespace and name.
#[derive(Debug)]
pub(crate) struct Taken(HashSet<(String, String)>);

impl Taken {
    /// The hosts that machines name in their specification.
    pub(crate) fn new(world: &World) -> Self {
        let named = world.elemental_machines.iter().filter_map(|machine| {
            let host = machine.spec.host_ref.as_ref()?;
            Some((namespace(&machine.metadata).to_owned(), host.name.clone()))
        });
        Self(named.collect())
    }

    pub(super) fn contains(&self, host: &ElementalHost) -> bool {
        self.0.contains(&(namespace(&host.metadata).to_owned(), name(&host.metadata).to_owned()))
    }

    pub(super) fn insert(&mut self, host: &ElementalHost) {
        self.0.insert((namespace(&host.metadata).to_owned(), name(&host.metadata).to_owned()));
    }
}

/// Why a machine gets no host: the reason and a message.
pub(super) type Refused = (&'static str, String);

/// The host to claim; otherwise why there is none.
pub(super) fn choose(
    work: &Work<'_>,
    taken: &Taken,
    machine: &ElementalMachine,
) -> Result<Arc<ElementalHost>, Refused> {
    let place = namespace(&machine.metadata);
    // A write that the watch has not shown when the process ended, or a restored cluster.
    let is_mine =
        |host: &&Arc<ElementalHost>| host.is_claimed_by(uid(&machine.metadata)) && !host.is_leaving();
    if let Some(mine) = work.world.hosts_in(place).find(is_mine) {
        return Ok(Arc::clone(mine));
    }
    let wishes = Wishes { work, machine };
    let is_open = |host: &&Arc<ElementalHost>| host.is_free() && !taken.contains(host);
    let is_control_plane = work.world.is_control_plane(machine);
    if is_control_plane && let Some(elected) = elected(work)? {
        let host = work.world.host(place, elected.host).filter(|host| uid(&host.metadata) == elected.uid);
        if let Some(host) = host.filter(is_open) {
            // The endpoint is an address of this host: no other one can be the first.
            return if wishes.allow(host) { Ok(Arc::clone(host)) } else { Err(excluded(elected.host)) };
        }
    }
    let cluster =
        work.world.infrastructure_of(work.cluster).map(|one| uid(&one.metadata)).unwrap_or_default();
    let is_unreserved = |host: &&Arc<ElementalHost>| {
        host.reserved_for().is_none_or(|owner| is_control_plane && owner == cluster)
    };
    let mut open = work.world.hosts_in(place).filter(is_open).filter(is_unreserved);
    open.find(|host| wishes.allow(host)).cloned().ok_or_else(|| {
        let domain = wishes.domain().map(|domain| format!(" in failure domain {domain}")).unwrap_or_default();
        ("MissingAvailableHosts", format!("no free host matches the selector{domain}"))
    })
}

/// The elected endpoint of the cluster of a machine, if it was elected.
fn elected<'a>(work: &Work<'a>) -> Result<Option<Elected<'a>>, Refused> {
    let infrastructure = work.world.infrastructure_of(work.cluster);
    // The watch of ElementalClusters may be behind that of Clusters, and not show the election yet.
    let Some(infrastructure) =
        infrastructure.filter(|one| one.spec.control_plane_endpoint.as_ref().is_some_and(Endpoint::is_given))
    else {
        let message =
            format!("the ElementalCluster of Cluster {} has no endpoint yet", name(&work.cluster.metadata));
        return Err(("MissingClusterInfrastructureReady", message));
    };
    Ok(Elected::of(&infrastructure.metadata))
}

fn excluded(host: &str) -> Refused {
    let message = format!(
        "the endpoint is an address of host {host}, which the selector or the failure domain of this machine excludes"
    );
    ("EndpointHostExcluded", message)
}

/// Requirements of a machine on its host.
struct Wishes<'a> {
    work: &'a Work<'a>,
    machine: &'a ElementalMachine,
}

impl Wishes<'_> {
    fn domain(&self) -> Option<&str> {
        self.work.owner.spec.failure_domain.as_deref().filter(|domain| !domain.is_empty())
    }

    fn allow(&self, host: &ElementalHost) -> bool {
        matches(self.machine.spec.selector.as_ref(), &host.metadata)
            && self.domain().is_none_or(|domain| label(&host.metadata, FAILURE_DOMAIN) == Some(domain))
    }
}
