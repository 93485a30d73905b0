//! Launching a machine for a slot of a roll, once.

use slipway_resource::ProviderError;

use crate::cloud::{Change, Launch, Machine, Object, size_of};
use crate::error::not_found;

/// The machine of a slot: a new one, or an existing one.
///
/// The caller has looked up the token, so this is not a repeated call. Each plan numbers its slots again, so
/// one number may mean different machines. But a pool never gets more machines of its current template than
/// it has places. When it has them all, the newest machine without a slot takes this one. With `anew`, all
/// existing machines are to be replaced, whatever their template, and a new one is launched.
pub(super) fn surge(
    change: &mut Change<'_>,
    pool: &Object,
    slot: &str,
    anew: bool,
    launch: Launch<'_>,
) -> Result<Machine, ProviderError> {
    let digest = pool.pool.as_ref().map(|state| state.template_digest.as_str()).unwrap_or_default();
    let size = size_of(pool);
    let machines: Vec<Machine> = change.world().machines_of(&pool.id).cloned().collect();
    let current: Vec<&Machine> =
        machines.iter().filter(|machine| machine.template_digest == digest).collect();
    if !anew && current.len() >= size.max(1) {
        let of_slot = current.iter().rfind(|machine| machine.slot.as_deref() == Some(slot));
        if let Some(machine) = of_slot {
            return Ok((*machine).clone());
        }
        let free = current.iter().rfind(|machine| machine.slot.is_none()).or(current.last());
        if let Some(machine) = free {
            let mut machine = (*machine).clone();
            machine.slot = Some(slot.to_owned());
            change.put_machine(machine.clone());
            return Ok(machine);
        }
    }
    let regular = machines.iter().filter(|machine| !machine.surplus).count();
    change
        .launch(&pool.id, launch, regular >= size, Some(slot.to_owned()))
        .ok_or_else(|| not_found(format!("pool {} does not exist", pool.id)))
}
