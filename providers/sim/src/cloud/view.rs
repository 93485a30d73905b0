//! The attributes that reads of an object show at a moment.

use slipway_resource::Value;

use super::entity::{Machine, Object, Pod};
use super::machine::text_of;
use super::pod;
use super::world::World;
use crate::clock::Millis;
use crate::kind::{self, MACHINE_POOL, WORKLOAD};

/// The attributes of an object as reads show them, or `None` when they show nothing yet, or no more.
pub(crate) fn attributes(world: &World, object: &Object, now: Millis) -> Option<Value> {
    match &object.stale {
        Some(stale) if now < stale.until => stale.attributes.clone(),
        Some(stale) if stale.gone => None,
        _ => Some(current(world, object, now)),
    }
}

/// The attributes of an object in truth.
pub(crate) fn current(world: &World, object: &Object, now: Millis) -> Value {
    let mut attributes = object.attributes.as_map().cloned().unwrap_or_default();
    if let Some(kind) = kind::all().get(object.kind.as_str()) {
        for name in &kind.write_only {
            attributes.remove(name);
        }
    }
    match object.kind.as_str() {
        MACHINE_POOL => {
            let pods = pod::by_machine(world);
            let none = Vec::new();
            let machines = world.machines_of(&object.id).map(|machine| {
                let pods = pods.get(machine.id.as_str()).unwrap_or(&none);
                show(world, machine, pods, now)
            });
            attributes.insert("machines".into(), Value::List(machines.collect()));
            if let Some(state) = &object.pool {
                let version = i64::try_from(state.template_version).unwrap_or(i64::MAX);
                attributes.insert("template_version".into(), version.into());
                let vacancies = state.vacancies.iter().map(|vacancy| {
                    Value::map([("name", vacancy.name.as_str()), ("identity", vacancy.identity.as_str())])
                });
                attributes.insert("vacancies".into(), Value::List(vacancies.collect()));
            }
        }
        WORKLOAD => {
            let available =
                world.pods().filter(|pod| pod.workload == object.id && pod::is_ready(pod, now)).count();
            let available = i64::try_from(available).unwrap_or(i64::MAX);
            attributes.insert("available".into(), available.into());
        }
        "sim_endpoint" => {
            let holder = holder(world, text_of(object, "cluster"), now).unwrap_or_default();
            attributes.insert("holder".into(), holder.into());
        }
        _ => {}
    }
    Value::Map(attributes)
}

fn holder<'a>(world: &'a World, cluster: &str, now: Millis) -> Option<&'a str> {
    world
        .machines()
        .find(|machine| {
            machine.cluster == cluster
                && machine.is_ready(now)
                && world.object(&machine.pool).is_some_and(|pool| text_of(pool, "role") == "controlPlane")
        })
        .map(|machine| machine.name.as_str())
}

fn show(world: &World, machine: &Machine, pods: &[&Pod], now: Millis) -> Value {
    let (_, rounds) = pod::outlook(world, pods, now);
    let version = i64::try_from(machine.template_version).unwrap_or(i64::MAX);
    Value::map([
        ("name", Value::from(machine.name.as_str())),
        ("identity", machine.id.as_str().into()),
        ("template_version", version.into()),
        ("template_digest", machine.template_digest.as_str().into()),
        ("zone", machine.zone.as_str().into()),
        ("address", machine.address.as_str().into()),
        ("image", machine.image.as_str().into()),
        ("machine_type", machine.machine_type.as_str().into()),
        ("kubernetes_version", machine.kubernetes_version.as_str().into()),
        ("ready", machine.is_ready(now).into()),
        ("surplus", machine.surplus.into()),
        ("slot", machine.slot.clone().into()),
        ("volume_id", machine.volume.clone().into()),
        ("pods", Value::list(pods.iter().map(|pod| pod::short(&pod.name)))),
        ("drain_rounds", i64::try_from(rounds).unwrap_or(i64::MAX).into()),
    ])
}
