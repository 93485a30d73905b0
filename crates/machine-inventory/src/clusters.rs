//! ElementalClusters: the endpoint of the control plane.

mod control_plane;
mod moving;
mod standing;

use jiff::Timestamp;
use serde_json::json;
use slipway_controller::EventType;

use crate::api::{ElementalCluster, ElementalHost, Endpoint, Initialization};
use crate::conditions::{CLUSTER_READY, Draft, ENDPOINT_READY, PAUSED};
use crate::context::Context;
use crate::core_api::Cluster;
use crate::election::{Decision, Elected, Question, decide};
use crate::labels::{
    CLUSTER_FINALIZER, ELECTED_ENDPOINT, ELECTED_HOST, ELECTED_HOST_UID, PREVIOUS_ENDPOINTS, has_finalizer,
    is_externally_managed, is_paused, with_finalizer, without_finalizer,
};
use crate::world::{World, name, namespace, uid};
use crate::writing::Failure;

/// Brings an ElementalCluster closer to what it should be.
pub(crate) async fn reconcile(
    context: &Context,
    world: &World,
    seen: &ElementalCluster,
) -> Result<(), Failure> {
    if is_externally_managed(&seen.metadata) {
        return Ok(());
    }
    let mut draft = draft_of(seen);
    let Some(cluster) = world.owning_cluster(&seen.metadata) else {
        if seen.metadata.deletion_timestamp.is_some() {
            return release(context, seen).await;
        }
        let message = "waiting for Cluster API to set the owner reference to the Cluster";
        draft.set(CLUSTER_READY, false, "MissingClusterOwner", message);
        return write(context, seen, draft, false).await;
    };
    if cluster.is_paused() || is_paused(&seen.metadata) {
        draft.set(PAUSED, true, "Paused", "the Cluster, or this object, is paused");
        return write_paused(context, seen, draft).await;
    }
    draft.set(PAUSED, false, "NotPaused", "");
    draft.set(CLUSTER_READY, true, "Ready", "");
    if seen.metadata.deletion_timestamp.is_some() {
        return release(context, seen).await;
    }
    let mut current = seen.clone();
    if !has_finalizer(&current.metadata, CLUSTER_FINALIZER) {
        let finalizers = with_finalizer(&current.metadata, CLUSTER_FINALIZER);
        current = context.patch(&current, json!({"metadata": {"finalizers": finalizers}})).await?;
    }
    let question = Question {
        infrastructure: &current,
        cluster,
        hosts: world.hosts_in(namespace(&seen.metadata)).collect(),
        machines: world.control_plane_of(cluster),
        selector: control_plane::selector(context, &current, cluster).await?,
    };
    let decision = match decide(&question) {
        // An address of one host would not be that of another one.
        Decision::Keep(_) | Decision::Elect(..) if current.spec.kube_vip.is_some() => {
            let message = "kubeVip needs a virtual address in spec.controlPlaneEndpoint".to_owned();
            Decision::Wait("VirtualAddressMissing", message)
        }
        decision => decision,
    };
    let machines = question.machines.len();
    let current = carry_out(context, &current, cluster, decision, &mut draft).await?;
    moving::follow(context, world, &current, cluster, &mut draft).await?;
    standing::redundancy(&current, machines, &mut draft);
    let provisioned = current.spec.control_plane_endpoint.as_ref().is_some_and(Endpoint::is_given);
    write(context, &current, draft, provisioned).await
}

async fn carry_out(
    context: &Context,
    current: &ElementalCluster,
    cluster: &Cluster,
    decision: Decision,
    draft: &mut Draft,
) -> Result<ElementalCluster, Failure> {
    match decision {
        Decision::Given => {
            draft.set(ENDPOINT_READY, true, "UserProvided", "");
            forget_election(context, current).await
        }
        Decision::Adopt(endpoint) => {
            draft.set(ENDPOINT_READY, true, "UserProvided", "the endpoint of the Cluster was copied");
            context.patch(current, json!({"spec": {"controlPlaneEndpoint": endpoint}})).await
        }
        Decision::Keep(host) => {
            reserve(context, current, &host).await?;
            let reason = if host.is_bootstrapped() { "Elected" } else { "Reserved" };
            draft.set(
                ENDPOINT_READY,
                true,
                reason,
                format!("the endpoint is an address of host {}", name(&host.metadata)),
            );
            Ok(current.clone())
        }
        Decision::Elect(host, endpoint) => elect(context, current, cluster, &host, &endpoint, draft).await,
        Decision::Wait(reason, message) => {
            draft.set(ENDPOINT_READY, false, reason, message);
            Ok(current.clone())
        }
    }
}

/// Writes an election. The host is reserved first: if the process ends in between, the reservation is found again.
async fn elect(
    context: &Context,
    current: &ElementalCluster,
    cluster: &Cluster,
    host: &ElementalHost,
    endpoint: &Endpoint,
    draft: &mut Draft,
) -> Result<ElementalCluster, Failure> {
    reserve(context, current, host).await?;
    let (host_name, text) = (name(&host.metadata), endpoint.authority());
    // What has an endpoint already has the last one that was elected.
    let before = Elected::of(&current.metadata).map(|elected| elected.endpoint.to_owned());
    let moved = before.as_ref().filter(|before| **before != text);
    let mut annotations = json!({
        ELECTED_HOST: host_name, ELECTED_HOST_UID: uid(&host.metadata), ELECTED_ENDPOINT: text,
    });
    if let Some(before) = moved {
        annotations[PREVIOUS_ENDPOINTS] = json!(moving::with_previous(&current.metadata, before));
    }
    let patch = json!({"metadata": {"annotations": annotations}, "spec": {"controlPlaneEndpoint": endpoint}});
    let written = context.patch(current, patch).await?;
    context.metrics.elections.inc();
    let (reason, note) = match moved {
        Some(before) => (
            "RePointed",
            format!("the endpoint moved from {before} to {text}, an address of host {host_name}"),
        ),
        None if host.is_bootstrapped() => {
            ("Elected", format!("the endpoint is {text}, an address of host {host_name}"))
        }
        None => {
            ("Reserved", format!("the endpoint is {text}, an address of host {host_name}, which is reserved"))
        }
    };
    tracing::info!(cluster = name(&cluster.metadata), host = host_name, endpoint = text, reason, "elected");
    let kind = if moved.is_some() { EventType::Warning } else { EventType::Normal };
    context.event(&written, kind, reason, note.clone()).await;
    draft.set(ENDPOINT_READY, true, reason, note);
    Ok(written)
}

/// Reserves a host for the endpoint of a cluster.
async fn reserve(context: &Context, cluster: &ElementalCluster, host: &ElementalHost) -> Result<(), Failure> {
    if host.reserved_for() == Some(uid(&cluster.metadata)) {
        return Ok(());
    }
    let reservation = json!({"name": name(&cluster.metadata), "uid": uid(&cluster.metadata)});
    context.patch(host, json!({"spec": {"endpointReservation": reservation}})).await?;
    Ok(())
}

/// Removes the record of an election whose endpoint the user has replaced.
async fn forget_election(context: &Context, current: &ElementalCluster) -> Result<ElementalCluster, Failure> {
    if Elected::of(&current.metadata).is_none() {
        return Ok(current.clone());
    }
    let none =
        json!({ELECTED_HOST: null, ELECTED_HOST_UID: null, ELECTED_ENDPOINT: null, PREVIOUS_ENDPOINTS: null});
    context.patch(current, json!({"metadata": {"annotations": none}})).await
}

/// Removes the finalizer of a deleted ElementalCluster. The controller of hosts removes its reservations.
async fn release(context: &Context, seen: &ElementalCluster) -> Result<(), Failure> {
    if has_finalizer(&seen.metadata, CLUSTER_FINALIZER) {
        let finalizers = without_finalizer(&seen.metadata, CLUSTER_FINALIZER);
        context.patch(seen, json!({"metadata": {"finalizers": finalizers}})).await?;
    }
    Ok(())
}

fn draft_of(cluster: &ElementalCluster) -> Draft {
    let conditions = cluster.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    Draft::new(conditions, cluster.metadata.generation, Timestamp::now())
}

/// Writes the status if it differs. A cluster that was provisioned stays provisioned.
async fn write(
    context: &Context,
    current: &ElementalCluster,
    mut draft: Draft,
    provisioned: bool,
) -> Result<(), Failure> {
    draft.summarise(&[CLUSTER_READY, ENDPOINT_READY]);
    let before = current.status.clone().unwrap_or_default();
    let mut status = before.clone();
    status.ready = before.ready || provisioned;
    if status.ready {
        status.initialization = Some(Initialization { provisioned: Some(true) });
    }
    status.conditions = draft.into_conditions();
    if current.status.as_ref() != Some(&status) {
        context.patch_status(current, json!(status)).await?;
    }
    Ok(())
}

/// Writes the conditions of a paused cluster, and nothing else.
async fn write_paused(context: &Context, current: &ElementalCluster, draft: Draft) -> Result<(), Failure> {
    let conditions = draft.into_conditions();
    if current.status.as_ref().is_none_or(|status| status.conditions != conditions) {
        let ready = current.status.as_ref().is_some_and(|status| status.ready);
        context.patch_status(current, json!({"ready": ready, "conditions": conditions})).await?;
    }
    Ok(())
}
