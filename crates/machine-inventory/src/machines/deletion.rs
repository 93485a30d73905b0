//! Deletion of a machine: it requests the reset of its host, and does not wait for it.

use serde_json::json;
use slipway_controller::EventType;

use crate::api::{ElementalHost, ElementalMachine};
use crate::context::Context;
use crate::hosts::request_reset;
use crate::labels::{MACHINE_FINALIZER, has_finalizer, without_finalizer};
use crate::world::{name, namespace, uid};
use crate::writing::Failure;

/// Requests the reset of the host and removes the finalizer. A host that does not exist, or that another machine has
/// claimed, does not keep the machine.
pub(super) async fn run(context: &Context, machine: &ElementalMachine) -> Result<(), Failure> {
    if !has_finalizer(&machine.metadata, MACHINE_FINALIZER) {
        return Ok(());
    }
    if let Some(reference) = &machine.spec.host_ref {
        // As it is now: the watch may not have shown the claim yet.
        let hosts = context.api::<ElementalHost>(namespace(&machine.metadata));
        let host = hosts.get_opt(&reference.name).await?;
        if let Some(host) =
            host.filter(|host| host.is_claimed_by(uid(&machine.metadata)) && !host.is_leaving())
        {
            request_reset(context, &host).await?;
            let note = format!("the reset of host {} was requested", name(&host.metadata));
            context.event(machine, EventType::Normal, "HostResetRequested", note).await;
        }
    }
    let finalizers = without_finalizer(&machine.metadata, MACHINE_FINALIZER);
    context.patch(machine, json!({"metadata": {"finalizers": finalizers}})).await?;
    Ok(())
}
