//! Differences that the spec says to leave alone: they are named, and references to objects that a plan deletes are refused.
//!
//! A pool with `ignoreChanges` of its subnets does not let go of a subnet that the plan deletes. The cloud refuses such a
//! deletion, and every later plan has it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::pattern::matches;
use slipway_resource::{Address, Path, Segment};

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::error::Error;
use crate::holds::mentions;
use crate::planner::Inputs;

/// A resource that differs from the spec and does not change: `ignoreChanges` leaves all its differences alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    /// The resource.
    pub address: Address,
    /// The attributes that differ, sorted.
    pub attributes: Vec<Path>,
}

/// Refuses a plan that deletes an object to which a reference is left alone.
///
/// # Errors
/// [`Error::IgnoredReference`].
pub(crate) fn check(inputs: &Inputs<'_>, decided: &Decided) -> Result<(), Error> {
    let mut going: BTreeMap<&str, &Address> = BTreeMap::new();
    for (address, decision) in &decided.by_address {
        let change = &decision.change;
        if change.action == ChangeAction::Delete || change.action.is_replace() {
            going.extend(change.identity.iter().map(|identity| (identity.as_str(), address)));
        }
    }
    if going.is_empty() {
        return Ok(());
    }
    for desired in inputs.desired.iter().filter(|desired| !desired.lifecycle.ignore_changes.is_empty()) {
        let holder = &desired.address;
        let goes = decided.by_address.get(holder).is_some_and(|own| own.change.action.is_replace());
        let Some((_, _, kind)) = inputs.providers.of_type(holder.kind()).filter(|_| !goes) else { continue };
        for (name, _) in kind.attributes.iter().filter(|(_, attribute)| attribute.holds) {
            let path = Path::key(name);
            if !desired.lifecycle.ignore_changes.iter().any(|ignored| path.starts_with(ignored)) {
                continue;
            }
            let held =
                inputs.observations.objects(holder).iter().filter_map(|found| found.attributes.get(name));
            for value in held {
                if let Some((_, address)) = going.iter().find(|(identity, _)| mentions(value, identity)) {
                    return Err(Error::IgnoredReference {
                        address: (*address).clone(),
                        holder: holder.clone(),
                        attribute: path,
                        place: place(inputs, holder, name),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Where the spec says that an attribute is left alone.
fn place(inputs: &Inputs<'_>, holder: &Address, attribute: &str) -> Option<String> {
    let entries = inputs.spec.get("ignoreChanges")?.as_array()?;
    let index = entries.iter().position(|entry| {
        let text = |name: &str| entry.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        let first = text("attribute").parse::<Path>().ok().and_then(|path| path.segments().first().cloned());
        let names =
            text("attribute") == "*" || matches!(first, Some(Segment::Key(name)) if *name == *attribute);
        names && matches(text("resource"), &holder.to_string())
    })?;
    Some((inputs.locate)(&format!("ignoreChanges[{index}]"))?.shown)
}
