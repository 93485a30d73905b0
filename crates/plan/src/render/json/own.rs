//! Additions to Terraform's form: steps, reasons, preconditions, disruption, estimate, digest.

use serde::ser::SerializeMap;
use serde_json::{Value as Json, json};
use slipway_resource::provider::Disruption;
use slipway_resource::{Path, Value};

use super::super::group::Counts;
use super::super::screen::{Screen, sensitive_paths};
use super::Sequence;
use super::change::{deferred, resource_change};
use super::values::side;
use crate::change::{ChangeAction, ResourceChange};
use crate::file::Plan;
use crate::precondition::Precondition;
use crate::step::{Step, StepAction};

/// Writes Slipway's own keys.
pub(super) fn serialize<M: SerializeMap>(map: &mut M, plan: &Plan, counts: &Counts) -> Result<(), M::Error> {
    let changes = || plan.changes.iter();
    map.serialize_entry("cluster", &plan.cluster)?;
    map.serialize_entry("mode", &plan.mode)?;
    map.serialize_entry("digest", &plan.digest().ok())?;
    map.serialize_entry("binding", &binding(plan))?;
    map.serialize_entry("counts", counts)?;
    map.serialize_entry(
        "estimate",
        &json!({ "total_ms": plan.estimate_ms, "longest_chain_ms": plan.critical_path_ms }),
    )?;
    if let Some(prices) = &plan.prices {
        map.serialize_entry("prices", prices)?;
    }
    map.serialize_entry("steps", &Sequence(|| plan.steps.iter().map(step)))?;
    map.serialize_entry(
        "reasons",
        &Sequence(|| {
            changes()
                .filter(|change| !change.reasons.is_empty())
                .map(|change| json!({ "address": change.address, "reasons": change.reasons }))
        }),
    )?;
    map.serialize_entry(
        "preconditions",
        &Sequence(|| changes().filter(|change| change.precondition != Precondition::None).map(precondition)),
    )?;
    map.serialize_entry(
        "disruption",
        &Sequence(|| changes().filter(|change| disrupts(change)).map(disruption)),
    )?;
    map.serialize_entry("left_out", &plan.pending)?;
    if !plan.ignored.is_empty() {
        map.serialize_entry("ignored", &plan.ignored)?;
    }
    map.serialize_entry("confirmations", &plan.confirmations())?;
    map.serialize_entry("kept", &Sequence(|| plan.kept.iter().map(resource_change)))?;
    map.serialize_entry(
        "deferred",
        &Sequence(|| changes().filter(|change| change.action == ChangeAction::Deferred).map(deferred)),
    )?;
    map.serialize_entry("findings", &plan.findings)?;
    if !plan.infrastructure_only.is_empty() {
        map.serialize_entry("infrastructure_only", &plan.infrastructure_only)?;
    }
    map.serialize_entry("notes", &plan.notes)?;
    map.serialize_entry("outlook", &plan.outlook)
}

/// The state that the plan may be applied to; the providers' configuration is left out.
fn binding(plan: &Plan) -> Json {
    let binding = &plan.binding;
    let providers: serde_json::Map<String, Json> = binding
        .providers
        .iter()
        .map(|(name, pin)| {
            let pin = json!({
                "version": pin.version,
                "schema_digest": pin.schema_digest,
                "account": pin.scope.account,
                "region": pin.scope.region,
            });
            (name.clone(), pin)
        })
        .collect();
    json!({
        "uid": binding.uid,
        "generation": binding.generation,
        "snapshot": binding.snapshot,
        "spec_digest": binding.spec_digest,
        "providers": providers,
    })
}

fn step(step: &Step) -> Json {
    let mut entry = json!({
        "id": step.id,
        "address": step.address,
        "action": step.action.verb(),
        "kind": if matches!(step.action, StepAction::Operation { .. }) { "gate" } else { "action" },
        "identity": step.identity,
        "depends_on": step.depends_on,
        "rate_class": step.rate_class,
        "estimate_ms": step.estimate_ms,
        "timeout_ms": step.timeout_ms,
    });
    if let Some(pool) = &step.roll {
        entry["roll"] = pool.to_string().into();
    }
    match &step.action {
        StepAction::Operation { arguments, .. } => entry["arguments"] = side(arguments, &[]).values,
        StepAction::Delete { surplus } => entry["surplus"] = (*surplus).into(),
        StepAction::RemovedWithParent { parent } => entry["with"] = parent.to_string().into(),
        _ => {}
    }
    entry
}

/// The precondition of a change. The digest of a secret is left out: a short secret could be guessed from it.
fn precondition(change: &ResourceChange) -> Json {
    match &change.precondition {
        Precondition::Unchanged { fields } => {
            let sensitive = sensitive_paths(change);
            let is_open = |field: &str| {
                Screen::new(&sensitive, &Path::key(field)).is_clear()
                    && !change.before.get(field).is_some_and(has_secret)
            };
            let fields: serde_json::Map<String, Json> = fields
                .iter()
                .map(|(field, digest)| (field.clone(), is_open(field).then(|| digest.as_str()).into()))
                .collect();
            json!({ "address": change.address, "holds": "unchanged", "fields": fields })
        }
        Precondition::AbsentOrOurs => json!({ "address": change.address, "holds": "absent-or-ours" }),
        Precondition::None => json!({ "address": change.address, "holds": "none" }),
    }
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::List(items) => items.iter().any(has_secret),
        Value::Map(entries) => entries.values().any(has_secret),
        _ => false,
    }
}

fn disrupts(change: &ResourceChange) -> bool {
    change.disruption != Disruption::None || change.confirmation.is_some() || !change.machines.is_empty()
}

fn disruption(change: &ResourceChange) -> Json {
    json!({
        "address": change.address,
        "class": change.disruption,
        "confirmation": change.confirmation,
        "machines": change.machines,
    })
}
