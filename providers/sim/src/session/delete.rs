//! Deletes an object with its dependents.

use slipway_resource::provider::ApplyRequest;
use slipway_resource::{Identity, ProviderError};

use super::create::Settled;
use crate::cloud::{Change, Journaled, Stale, World, pod, view};
use crate::error::{dependency, invalid};
use crate::kind::{self, Kind, MACHINE_POOL, OnDelete, WORKLOAD};

/// Deletes an object with its dependents. An object that is gone already is a success.
pub(super) fn delete(
    change: &mut Change<'_>,
    kind: &Kind,
    request: &ApplyRequest,
    identity: &Identity,
    delay: u64,
) -> Result<Settled, ProviderError> {
    let id = identity.as_str();
    let gone = |at| Settled { id: id.to_owned(), at };
    if let Some(entry) = change.world().journaled(&request.token) {
        return Ok(gone(entry.done_at.unwrap_or_default()));
    }
    let Some(object) = change.world().object(id).cloned() else {
        return Ok(gone(change.now()));
    };
    if object.kind != kind.name {
        return Err(invalid(format!("{id} is a {}, no {}", object.kind, kind.name)));
    }
    let mut doomed = vec![object.id.clone()];
    let mut position = 0;
    while let Some(next) = doomed.get(position).cloned() {
        for (referrer, on_delete) in referrers(change.world(), &next) {
            if on_delete == OnDelete::Follow && !doomed.contains(&referrer) {
                doomed.push(referrer);
            }
        }
        position += 1;
    }
    let blockers: Vec<String> = doomed
        .iter()
        .flat_map(|next| referrers(change.world(), next))
        .filter(|(referrer, on_delete)| *on_delete == OnDelete::Refuse && !doomed.contains(referrer))
        .map(|(referrer, _)| referrer)
        .collect();
    if !blockers.is_empty() {
        return Err(dependency(format!("{} {id} is in use by {}", kind.name, blockers.join(", ")), blockers));
    }
    for id in doomed.iter().rev() {
        remove(change, id, delay);
    }
    let at = change.now() + kind.resource.durations.delete_ms;
    change.journal(Journaled {
        token: request.token.clone(),
        id: id.to_owned(),
        machine: None,
        done_at: Some(at),
    });
    Ok(gone(at))
}

fn remove(change: &mut Change<'_>, id: &str, delay: u64) {
    let Some(mut object) = change.world().object(id).cloned() else {
        return;
    };
    let now = change.now();
    let shown = (delay > 0).then(|| view::current(change.world(), &object, now));
    match object.kind.as_str() {
        MACHINE_POOL => {
            let machines: Vec<_> = change.world().machines_of(id).cloned().collect();
            change.remove_object(id);
            for machine in &machines {
                change.terminate(machine);
            }
        }
        WORKLOAD => {
            pod::forget_workload(change, id);
            change.remove_object(id);
        }
        _ => change.remove_object(id),
    }
    if let Some(attributes) = shown {
        object.pool = None;
        object.stale = Some(Stale { until: now + delay, attributes: Some(attributes), gone: true });
        change.put_object(object);
    }
}

/// The objects that refer to one, and what its deletion means to them.
fn referrers(world: &World, id: &str) -> Vec<(String, OnDelete)> {
    let mut found = Vec::new();
    for referrer in world.referrers(id) {
        let Some(object) = world.object(referrer) else { continue };
        let Some(kind) = kind::all().get(object.kind.as_str()) else {
            continue;
        };
        for (link, target) in kind.targets(&object.attributes) {
            if target == id {
                found.push((referrer.clone(), link.on_delete));
            }
        }
    }
    found
}
