//! The choices of the providers that a saved plan pins, such as images of machines.
//!
//! The state keeps them after the plan, and later plans are made from them. No change of the plan shows them.

use std::collections::BTreeMap;

use slipway_plan::{Mode, Plan};

use crate::error::Error;
use crate::opened::Opened;

/// The first provider whose choices in a plan are neither those that the state has pinned nor those that the provider adds to them,
/// as a sentence. A provider of machines that exist has facts about them there, which its plans change: they are not compared.
///
/// # Errors
/// When a provider cannot read what it chooses from.
pub(super) async fn fault(plan: &Plan, opened: &Opened) -> Result<Option<String>, Error> {
    if plan.mode != Mode::Apply {
        return Ok(None);
    }
    let nothing = BTreeMap::new();
    let pinned = opened.prior().map_or(&nothing, |prior| &prior.catalogs);
    let planned = &plan.binding.catalogs;
    if let Some(name) = pinned.keys().find(|name| !planned.contains_key(*name)) {
        return Ok(Some(format!(
            "the plan does not have the choices of the provider {name} that the state has"
        )));
    }
    for (name, catalog) in planned {
        let known = pinned.get(name);
        if known == Some(catalog) {
            continue;
        }
        let answer = match opened.providers().get(name) {
            Some(handle) if handle.info.capabilities.hosts => continue,
            Some(handle) => Some(opened.catalog(handle, known.cloned()).await?),
            None => None,
        };
        if answer.as_ref() != Some(catalog) {
            return Ok(Some(format!("the choices of the provider {name} are not those that it makes now")));
        }
    }
    Ok(None)
}
