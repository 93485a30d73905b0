//! Plans changes from the results of a dry run. Pure.

use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Path, ProviderError, Value};

use super::settings::estimate_ms;
use super::unknown_type;
use crate::endpoint;
use crate::manifest::{self, invalid};
use crate::node;
use crate::schema::{API, FIELDS_DIGEST, NODE, OBJECT, OUTDATED_NODES};

pub(super) fn plan(item: &PlanItem) -> Result<Planned, ProviderError> {
    let planned = match item.address.kind() {
        OBJECT => object(item),
        NODE => node::plan(item),
        API => endpoint::plan(item),
        _ => Err(unknown_type(&item.address)),
    };
    planned.map_err(|error| error.with_address(&item.address))
}

fn object(item: &PlanItem) -> Result<Planned, ProviderError> {
    let Some(desired) = &item.desired else { return Ok(Planned::default()) };
    // References are not resolved here: their values are unknown.
    let mut normalised = desired.resolve(&mut |_| Value::Unknown);
    one_of(desired, "wait", &["ready", "none"])?;
    one_of(desired, "propagation", &["Background", "Foreground", "Orphan"])?;
    let wanted = desired.get("manifest").unwrap_or(&Value::Null);
    if wanted.as_map().is_some() {
        manifest::wanted(wanted)?;
        let mut manifest = manifest::normal(normalised.get("manifest").unwrap_or(&Value::Null));
        if let Some(observed) = without_dry_run(item, wanted, &manifest) {
            manifest = observed;
        }
        normalised.set(&Path::key("manifest"), manifest);
    }
    // The time of a step grows with the machines that change before the object.
    let outdated = item.observed.as_ref().and_then(|observed| observed.get(OUTDATED_NODES)?.as_integer());
    let estimate_ms = outdated.and_then(|count| u64::try_from(count).ok()).map(estimate_ms);
    Ok(Planned { normalised, estimate_ms, ..Planned::default() })
}

/// The observed manifest of a Secret that had no dry run, if it is desired as it was last applied. Its
/// content is hidden, so it cannot be compared.
fn without_dry_run(item: &PlanItem, wanted: &Value, normal: &Value) -> Option<Value> {
    let (observed, applied) = (item.observed.as_ref()?, item.last_applied.as_ref()?);
    if observed.get(FIELDS_DIGEST) != applied.get(FIELDS_DIGEST) {
        return None;
    }
    let (observed, applied) = (observed.get("manifest")?, applied.get("manifest")?);
    if !manifest::is_secret_manifest(wanted) || applied != wanted {
        return None;
    }
    let without = |value: &Value| {
        let mut value = value.clone();
        value.set(&Path::key("data"), Value::Null);
        value.set(&Path::key("stringData"), Value::Null);
        value
    };
    (without(normal) == without(observed)).then(|| observed.clone())
}

fn one_of(desired: &Value, name: &str, allowed: &[&str]) -> Result<(), ProviderError> {
    match desired.get(name) {
        Some(Value::String(text)) if !allowed.contains(&text.as_str()) => {
            Err(invalid(format!("{name} is {text}; it may be {}", allowed.join(" or "))))
        }
        _ => Ok(()),
    }
}
