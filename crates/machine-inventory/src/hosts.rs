//! ElementalHosts: finalizers, resets, and claims and reservations without an owner.

use serde_json::json;
use slipway_controller::EventType;

use crate::api::{ElementalCluster, ElementalHost, ElementalMachine, Endpoint};
use crate::context::Context;
use crate::election::Elected;
use crate::labels::{
    CLUSTER_NAME, ELEMENTAL_MACHINE_NAME, MACHINE_FINALIZER, MACHINE_NAME, NEEDS_RESET, RESET, has_finalizer,
    is_set, with_finalizer, without_finalizer,
};
use crate::world::{World, name, namespace, uid};
use crate::writing::Failure;

/// Brings an ElementalHost closer to what it should be.
pub(crate) async fn reconcile(context: &Context, world: &World, host: &ElementalHost) -> Result<(), Failure> {
    let finalizes = has_finalizer(&host.metadata, MACHINE_FINALIZER);
    if host.metadata.deletion_timestamp.is_some() {
        if finalizes && is_set(&host.metadata, RESET) {
            let finalizers = without_finalizer(&host.metadata, MACHINE_FINALIZER);
            context.patch(host, json!({"metadata": {"finalizers": finalizers}})).await?;
        } else if finalizes && !is_set(&host.metadata, NEEDS_RESET) {
            request_reset(context, host).await?;
        }
        return Ok(());
    }
    if !finalizes {
        let finalizers = with_finalizer(&host.metadata, MACHINE_FINALIZER);
        // The watch reports the change, and the rest is looked at then.
        context.patch(host, json!({"metadata": {"finalizers": finalizers}})).await?;
        return Ok(());
    }
    if !host.is_leaving() && claim_is_left(context, world, host).await? {
        return Ok(());
    }
    release_reservation(context, world, host).await
}

/// Asks the agent of a host for its reset. The host gets no bootstrap data any more.
pub(crate) async fn request_reset(context: &Context, host: &ElementalHost) -> Result<(), Failure> {
    let patch = json!({"metadata": {"labels": {NEEDS_RESET: "true"}}, "spec": {"bootstrapSecret": null}});
    context.patch(host, patch).await?;
    Ok(())
}

/// Handles the claim of a machine that does not exist, or that has named another host. Returns whether the host changed.
async fn claim_is_left(context: &Context, world: &World, host: &ElementalHost) -> Result<bool, Failure> {
    let Some(claimer) = &host.spec.machine_ref else { return Ok(false) };
    let place = namespace(&host.metadata);
    let known = world
        .elemental_machines
        .iter()
        .find(|machine| Some(uid(&machine.metadata)) == claimer.uid.as_deref());
    if known.is_some_and(|machine| names(machine, host)) {
        return Ok(false);
    }
    // As it is now: the watch may be behind.
    let machine = context.api::<ElementalMachine>(place).get_opt(&claimer.name).await?;
    let machine = machine.filter(|machine| Some(uid(&machine.metadata)) == claimer.uid.as_deref());
    match machine {
        Some(machine) if machine.spec.host_ref.is_none() || names(&machine, host) => Ok(false),
        Some(machine) => {
            // Two controllers chose at once. Bootstrap data is handed only to the host that the machine names.
            let none = json!({CLUSTER_NAME: null, MACHINE_NAME: null, ELEMENTAL_MACHINE_NAME: null});
            let spec = json!({"machineRef": null, "bootstrapSecret": null, "controlPlaneEndpoint": null, "virtualAddress": null});
            context.patch(host, json!({"metadata": {"labels": none}, "spec": spec})).await?;
            tracing::info!(
                host = name(&host.metadata),
                machine = name(&machine.metadata),
                "a claim was given back"
            );
            Ok(true)
        }
        None => {
            request_reset(context, host).await?;
            let note =
                format!("ElementalMachine {} does not exist any more: the reset was requested", claimer.name);
            context.event(host, EventType::Normal, "HostResetRequested", note).await;
            Ok(true)
        }
    }
}

/// Whether a machine names this host.
fn names(machine: &ElementalMachine, host: &ElementalHost) -> bool {
    let named = machine.spec.host_ref.as_ref();
    named.is_some_and(|named| {
        named.name == name(&host.metadata)
            && named.uid.as_deref().is_none_or(|one| one == uid(&host.metadata))
    })
}

/// Removes a reservation whose cluster is gone, or has another endpoint.
async fn release_reservation(context: &Context, world: &World, host: &ElementalHost) -> Result<(), Failure> {
    let Some(reservation) = &host.spec.endpoint_reservation else { return Ok(()) };
    let known = world.elemental_clusters.iter().find(|cluster| uid(&cluster.metadata) == reservation.uid);
    if known.is_some_and(|cluster| holds(cluster, host)) {
        return Ok(());
    }
    // As it is now: the watch may be behind.
    let cluster =
        context.api::<ElementalCluster>(namespace(&host.metadata)).get_opt(&reservation.name).await?;
    let cluster = cluster.filter(|cluster| uid(&cluster.metadata) == reservation.uid);
    if cluster.is_some_and(|cluster| holds(&cluster, host)) {
        return Ok(());
    }
    context.patch(host, json!({"spec": {"endpointReservation": null}})).await?;
    Ok(())
}

/// Whether the endpoint of a cluster is, or may become, an address of the host.
fn holds(cluster: &ElementalCluster, host: &ElementalHost) -> bool {
    match Elected::of(&cluster.metadata) {
        Some(elected) => elected.uid == uid(&host.metadata),
        None => !cluster.spec.control_plane_endpoint.as_ref().is_some_and(Endpoint::is_given),
    }
}
