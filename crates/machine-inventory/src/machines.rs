//! ElementalMachines: each claims a host, hands it the bootstrap data, and reports the Node.

mod association;
mod choice;
mod deletion;
mod progress;
mod status;

pub(crate) use choice::Taken;

use serde_json::json;

use crate::api::{ElementalMachine, Endpoint, VirtualAddress};
use crate::conditions::{ASSOCIATION_READY, PAUSED};
use crate::context::Context;
use crate::core_api::{Cluster, Machine};
use crate::election::Elected;
use crate::labels::{
    BOOTSTRAP_ENDPOINT, MACHINE_FINALIZER, annotation, has_finalizer, is_paused, with_finalizer,
};
use crate::world::{World, name};
use crate::writing::Failure;

use association::Association;
use status::Status;

/// Brings an ElementalMachine closer to what it should be.
pub(crate) async fn reconcile(
    context: &Context,
    world: &World,
    taken: &mut Taken,
    seen: &ElementalMachine,
) -> Result<(), Failure> {
    let mut status = Status::of(seen);
    let owner = world.owning_machine(&seen.metadata);
    let cluster = owner.and_then(|machine| world.cluster_of(machine));
    if is_paused(&seen.metadata) || cluster.is_some_and(|cluster| cluster.is_paused()) {
        status.draft.set(PAUSED, true, "Paused", "the Cluster, or this object, is paused");
        return status.write(context, seen).await;
    }
    if seen.metadata.deletion_timestamp.is_some() {
        return deletion::run(context, seen).await;
    }
    status.draft.set(PAUSED, false, "NotPaused", "");
    let (Some(owner), Some(cluster)) = (owner, cluster) else {
        let (reason, message) = match owner {
            None => (
                "MissingMachineOwner",
                "waiting for Cluster API to set the owner reference to the Machine".to_owned(),
            ),
            Some(owner) => {
                ("MissingAssociatedCluster", format!("there is no Cluster {}", owner.spec.cluster_name))
            }
        };
        status.draft.set(ASSOCIATION_READY, false, reason, message);
        return status.write(context, seen).await;
    };
    let work = Work { context, world, owner, cluster };
    let current = work.prepare(seen).await?;
    if let Some((reason, message)) = work.missing(&current) {
        status.draft.set(ASSOCIATION_READY, false, reason, message);
        return status.write(context, &current).await;
    }
    let (current, association) = association::associate(&work, taken, current).await?;
    let current = match association {
        Association::Host(host) => {
            status.draft.set(ASSOCIATION_READY, true, "Associated", format!("host {}", name(&host.metadata)));
            progress::run(&work, current, &host, &mut status).await?
        }
        Association::Waits(reason, message) => {
            status.draft.set(ASSOCIATION_READY, false, reason, message);
            current
        }
        Association::Fails(reason, message) => {
            status.fail(reason, message);
            current
        }
    };
    status.write(context, &current).await
}

/// The owner and the cluster of a machine, with the context.
struct Work<'a> {
    context: &'a Context,
    world: &'a World,
    owner: &'a Machine,
    cluster: &'a Cluster,
}

impl Work<'_> {
    /// Sets the finalizer, and records the endpoint that the bootstrap data was made for.
    async fn prepare(&self, seen: &ElementalMachine) -> Result<ElementalMachine, Failure> {
        let mut patch = json!({"metadata": {}});
        if !has_finalizer(&seen.metadata, MACHINE_FINALIZER) {
            patch["metadata"]["finalizers"] = json!(with_finalizer(&seen.metadata, MACHINE_FINALIZER));
        }
        let has_data = self.owner.spec.bootstrap.data_secret_name.is_some();
        if has_data
            && annotation(&seen.metadata, BOOTSTRAP_ENDPOINT).is_none()
            && let Some(endpoint) = self.cluster.endpoint()
        {
            patch["metadata"]["annotations"] = json!({BOOTSTRAP_ENDPOINT: endpoint.authority()});
        }
        if patch == json!({"metadata": {}}) {
            return Ok(seen.clone());
        }
        self.context.patch(seen, patch).await
    }

    /// The reason and the message of a machine that cannot claim a host yet.
    fn missing(&self, machine: &ElementalMachine) -> Option<(&'static str, String)> {
        let cluster = name(&self.cluster.metadata);
        if machine.spec.host_ref.is_some() {
            return None;
        }
        if !self.cluster.has_infrastructure() {
            return Some((
                "MissingClusterInfrastructureReady",
                format!("the infrastructure of Cluster {cluster} is not ready"),
            ));
        }
        if self.owner.spec.bootstrap.data_secret_name.is_none() {
            let message = format!("Machine {} has no bootstrap data yet", name(&self.owner.metadata));
            return Some(("MissingBootstrapSecret", message));
        }
        None
    }

    /// The virtual address that a machine of the control plane has; `None` without kube-vip.
    fn virtual_address(&self, machine: &ElementalMachine) -> Option<VirtualAddress> {
        let infrastructure = self.world.infrastructure_of(self.cluster)?;
        let settings =
            infrastructure.spec.kube_vip.clone().filter(|_| self.world.is_control_plane(machine))?;
        let given = infrastructure.spec.control_plane_endpoint.as_ref().filter(|one| one.is_given())?;
        // An address of one host, which was elected, would not be that of another one.
        if Elected::of(&infrastructure.metadata).is_some_and(|elected| elected.endpoint == given.authority())
        {
            return None;
        }
        let Endpoint { host, port } = given.clone();
        Some(VirtualAddress { address: host, port, image: settings.image, interface: settings.interface })
    }

    /// The endpoint of the cluster, `host:port`.
    fn endpoint(&self) -> Option<String> {
        self.cluster.endpoint().map(Endpoint::authority)
    }
}
