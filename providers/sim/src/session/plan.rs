//! Plans each change. Pure: it depends only on the item and the seed.

use slipway_resource::diff::same;
use slipway_resource::provider::{Disruption, Fate, Member, PlanItem, Planned};
use slipway_resource::validate::misfits;
use slipway_resource::{Entries, Mode, Path, ProviderError, Value};

use super::{kind_of, rollout};
use crate::cloud::boot_ms;
use crate::error::invalid;
use crate::kind::{Kind, MACHINE_POOL, POOL_MS, refuse_shrinking};

/// Plans one change.
pub(super) fn plan(seed: u64, item: &PlanItem) -> Result<Planned, ProviderError> {
    let kind = kind_of(&item.address)?;
    let Some(desired) = &item.desired else {
        return Ok(removal(kind, seed, item));
    };
    if let Some(misfit) = misfits(&kind.resource.attributes, desired).into_iter().next() {
        let error = invalid(format!("{}: {misfit}", item.address)).with_address(&item.address);
        return Err(match misfit.suggestion {
            Some(name) => error.with_hint(format!("did you mean {name}?")),
            None => error,
        });
    }
    let mut attributes = kind.normalised(desired);
    if let Some(observed) = &item.observed {
        refuse(kind, item.address.name(), observed, &attributes)
            .map_err(|error| error.with_address(&item.address))?;
    }
    let replace_paths = replace_paths(kind, item.observed.as_ref(), &attributes);
    let replaced = !replace_paths.is_empty() || replaces(kind, item.observed.as_ref(), &attributes);
    let kept = item.observed.as_ref().filter(|_| !replaced);
    fill_in(kind, item, kept, &mut attributes);

    let mut planned = Planned {
        replace_paths,
        disruption: disruption(kind, item.observed.is_some(), replaced),
        estimate_ms: estimate(kind, seed, &attributes, kept),
        ..Planned::default()
    };
    if kind.name == MACHINE_POOL {
        // A pool that is to be replaced gives its machines up first.
        let wanted = (!replaced).then_some(&attributes);
        let observed = item.observed.as_ref();
        let rollout = if replaced && observed.is_some() {
            rollout::rollout(seed, None, observed)
        } else {
            rollout::rollout(seed, wanted, observed)
        };
        if let Some(rollout) = rollout {
            planned.reasons = rollout::reasons(&rollout);
            let in_place_only =
                attributes.get("rollout_strategy").and_then(Value::as_str) == Some("in-place");
            // A place that is empty is filled, and replaces nothing.
            let replaced = |member: &Member| matches!(member.fate, Fate::Replace { path: Some(_), .. });
            if in_place_only && rollout.members.iter().any(replaced) {
                let text = format!(
                    "the pool may only change in place (`rollout.strategy: inPlace`), but {}",
                    planned.reasons.join("; ")
                );
                let hint = "take the change back, or write `rollout.strategy: inPlaceOrReplace`";
                return Err(invalid(text).with_hint(hint).with_address(&item.address));
            }
            if rollout.has_leaving() {
                planned.disruption = planned.disruption.max(Disruption::Rolling);
            }
            planned.rollout = Some(rollout);
        }
        // An update starts the machines that are missing.
        let is_short = planned
            .rollout
            .as_ref()
            .is_some_and(|rollout| !rollout.has_leaving() && rollout.members.len() < rollout.size as usize);
        if let Some(observed) = kept
            && (is_short || rollout::template_changes(&attributes, observed))
        {
            for name in ["machines", "template_version", "vacancies"] {
                planned.unknown_after.push(Path::key(name));
            }
        }
    }
    planned.normalised = Value::Map(attributes);
    Ok(planned)
}

fn removal(kind: &Kind, seed: u64, item: &PlanItem) -> Planned {
    let mut planned =
        Planned { disruption: disruption(kind, item.observed.is_some(), true), ..Planned::default() };
    if kind.name == MACHINE_POOL && item.observed.is_some() {
        planned.rollout = rollout::rollout(seed, None, item.observed.as_ref());
        planned.reasons = planned.rollout.as_ref().map(rollout::reasons).unwrap_or_default();
    }
    planned
}

/// Sets what the server sets: as it is, or unknown.
fn fill_in(kind: &Kind, item: &PlanItem, kept: Option<&Value>, attributes: &mut Entries) {
    for (name, attribute) in &kind.resource.attributes {
        if attributes.contains_key(name) {
            continue;
        }
        let found = kept.and_then(|observed| observed.get(name));
        let value = match (attribute.mode, found) {
            (Mode::Computed, Some(found)) => found.clone(),
            (Mode::OptionalComputed, Some(found)) => {
                let applied = item.last_applied.as_ref().and_then(|applied| applied.get(name));
                if applied == Some(found) {
                    // The value was requested before and is not any more: the server decides again.
                    Value::Unknown
                } else {
                    found.clone()
                }
            }
            (Mode::Computed | Mode::OptionalComputed, None) if kept.is_none() => Value::Unknown,
            _ => continue,
        };
        attributes.insert(name.clone(), value);
    }
}

fn refuse(kind: &Kind, name: &str, observed: &Value, attributes: &Entries) -> Result<(), ProviderError> {
    if kind.name == "sim_volume" && !replaces(kind, Some(observed), attributes) {
        return refuse_shrinking(name, Some(observed), &Value::Map(attributes.clone()));
    }
    Ok(())
}

/// Whether an attribute changes that is fixed when the object is made.
fn replaces(kind: &Kind, observed: Option<&Value>, attributes: &Entries) -> bool {
    let Some(observed) = observed else { return false };
    kind.resource.attributes.iter().filter(|(_, attribute)| attribute.immutable).any(|(name, attribute)| {
        match attributes.get(name) {
            None => attribute.mode == Mode::Optional && observed.get(name).is_some(),
            Some(wanted) => !same(&attribute.kind, observed.get(name).unwrap_or(&Value::Null), wanted),
        }
    })
}

/// Changes that need a new object although the schema lets the attribute change: a load balancer can enter zones
/// and cannot leave one.
fn replace_paths(kind: &Kind, observed: Option<&Value>, attributes: &Entries) -> Vec<Path> {
    let leaves = || {
        let before = observed?.get("subnet_ids")?.as_list()?;
        let after = attributes.get("subnet_ids")?.as_list()?;
        let known = after.iter().all(Value::is_known);
        Some(!known || before.iter().any(|subnet| !after.contains(subnet)))
    };
    if kind.name == "sim_load_balancer" && leaves() == Some(true) {
        vec![Path::key("subnet_ids")]
    } else {
        Vec::new()
    }
}

fn disruption(kind: &Kind, exists: bool, goes: bool) -> Disruption {
    if !exists {
        return Disruption::None;
    }
    match (kind.name, goes) {
        (
            "sim_network" | "sim_subnet" | "sim_load_balancer" | "sim_volume" | "sim_endpoint"
            | "sim_machine_pool",
            true,
        ) => Disruption::Outage,
        (
            "sim_nat_gateway"
            | "sim_internet_gateway"
            | "sim_egress_gateway"
            | "sim_route"
            | "sim_route_table"
            | "sim_listener"
            | "sim_security_group"
            | "sim_security_group_rule"
            | "sim_dns_record"
            | "sim_workload",
            true,
        ) => Disruption::Brief,
        _ => Disruption::None,
    }
}

/// How long the change takes, where that is not what the type says.
fn estimate(kind: &Kind, seed: u64, attributes: &Entries, kept: Option<&Value>) -> Option<u64> {
    if kind.name == MACHINE_POOL {
        let text = |name: &str| attributes.get(name).and_then(Value::as_str).unwrap_or_default();
        let (cluster, pool) = (text("cluster"), text("name"));
        let size = attributes
            .get("size")
            .and_then(Value::as_integer)
            .or_else(|| attributes.get("min").and_then(Value::as_integer))
            .and_then(|size| u64::try_from(size).ok())
            .unwrap_or_default();
        let boots = |count: u64| {
            (0..count).map(|ordinal| boot_ms(seed, cluster, pool, ordinal)).max().unwrap_or_default()
        };
        return Some(match kept {
            None => boots(size).max(POOL_MS),
            Some(observed) => {
                let live = rollout::machines(observed).len() as u64;
                boots(size.saturating_sub(live)).max(kind.resource.durations.update_ms)
            }
        });
    }
    let slept = attributes.get("sleep_ms").and_then(Value::as_integer)?;
    let slept = u64::try_from(slept).ok().filter(|slept| *slept > 0)?;
    kept.is_none().then(|| kind.resource.durations.create_ms + slept)
}
