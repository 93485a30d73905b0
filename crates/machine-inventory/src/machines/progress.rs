//! A machine that has its host: it waits for the bootstrap, then its Node gets the provider id.

use std::sync::Arc;

use serde_json::json;

use super::Work;
use super::status::Status;
use crate::addresses;
use crate::api::{ElementalHost, ElementalMachine};
use crate::conditions::{BOOTSTRAP_READY, HOST_READY, PROVIDER_ID_READY};
use crate::core_api::condition;
use crate::labels::{FAILURE_DOMAIN, INSTALLED, is_set, label};
use crate::workload;
use crate::world::name;
use crate::writing::Failure;

/// Reports what the host has reached; returns the machine after the writes.
pub(super) async fn run(
    work: &Work<'_>,
    machine: ElementalMachine,
    host: &Arc<ElementalHost>,
    status: &mut Status,
) -> Result<ElementalMachine, Failure> {
    status.fields.addresses = addresses::of_machine(host.addresses());
    status.fields.failure_domain = label(&host.metadata, FAILURE_DOMAIN).map(str::to_owned);
    let host_name = name(&host.metadata);
    if !is_set(&host.metadata, INSTALLED) {
        status.draft.set(
            HOST_READY,
            false,
            "HostWaitingForInstall",
            format!("host {host_name} is not installed"),
        );
        return Ok(machine);
    }
    if !host.is_bootstrapped() {
        let (reason, message) = bootstrap_problem(host).unwrap_or((
            "HostWaitingForBootstrap",
            format!("host {host_name} has not run the bootstrap data yet"),
        ));
        status.draft.set(HOST_READY, false, reason, message);
        return Ok(machine);
    }
    status.draft.set(HOST_READY, true, "Bootstrapped", "");
    if machine.spec.provider_id.is_some() {
        status.draft.set(PROVIDER_ID_READY, true, "ProviderIDSet", "");
        status.provisioned();
        return Ok(machine);
    }
    set_provider_id(work, machine, host, status).await
}

/// The failure that the agent of a host has reported.
fn bootstrap_problem(host: &ElementalHost) -> Option<(&'static str, String)> {
    let conditions = host.status.as_ref().map(|status| status.conditions.as_slice())?;
    let failed = condition(conditions, BOOTSTRAP_READY).filter(|one| one.reason == "BootstrapFailed")?;
    Some(("BootstrapFailed", failed.message.clone()))
}

/// The Node gets the provider id first: Cluster API looks for a Node with that of the machine.
async fn set_provider_id(
    work: &Work<'_>,
    machine: ElementalMachine,
    host: &ElementalHost,
    status: &mut Status,
) -> Result<ElementalMachine, Failure> {
    // Without an object of a control plane provider, Cluster API waits for the Node of a control plane machine first.
    let is_waited_for =
        work.cluster.spec.control_plane_ref.is_none() && work.world.is_control_plane(&machine);
    if !work.cluster.has_control_plane() && !is_waited_for {
        let message = "the API server of the control plane has not answered yet";
        status.draft.set(PROVIDER_ID_READY, false, "WaitingForControlPlaneInitialized", message);
        return Ok(machine);
    }
    let (node, provider_id) = (name(&host.metadata), host.provider_id());
    match workload::initialise_node(work.context, work.cluster, node, &provider_id).await {
        Ok(true) => {}
        Ok(false) => {
            let message = format!("the cluster has no Node {node}");
            status.draft.set(PROVIDER_ID_READY, false, "NodeNotFound", message);
            return Ok(machine);
        }
        Err(error) => {
            let message = format!("Node {node} was not changed: {error}");
            status.draft.set(PROVIDER_ID_READY, false, "WorkloadNotReachable", message);
            return Ok(machine);
        }
    }
    let machine = work.context.patch(&machine, json!({"spec": {"providerID": provider_id}})).await?;
    status.draft.set(PROVIDER_ID_READY, true, "ProviderIDSet", "");
    status.provisioned();
    Ok(machine)
}
