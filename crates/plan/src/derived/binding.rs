//! What a plan file says about its spec and its providers.

use slipway_resource::provider::{Catalog, Scope};
use slipway_resource::{Digest, Value};

use crate::file::Plan;
use crate::providers::Providers;

/// The first part of the binding whose digest is not the one that the plan names, as a sentence.
pub(super) fn digests(plan: &Plan) -> Option<String> {
    if !plan.spec.is_null() && Digest::of(&plan.spec).ok().as_ref() != Some(&plan.binding.spec_digest) {
        return Some("its spec does not have the digest that it names".to_owned());
    }
    let is_other = |catalog: &Catalog| Digest::of(&catalog.data).ok().as_ref() != Some(&catalog.digest);
    let (name, _) = plan.binding.catalogs.iter().find(|(_, catalog)| is_other(catalog))?;
    Some(format!("the choices of the provider {name} do not have the digest that they name"))
}

/// The provider of the spec in the plan, with its settings.
fn of_spec(plan: &Plan) -> (Option<&str>, Value) {
    let own = plan.spec.get("provider");
    let name = own.and_then(|own| own.get("name")).and_then(serde_json::Value::as_str);
    (name, own.and_then(|own| own.get("config")).map(Value::from_json).unwrap_or_default())
}

/// The first setting of the spec that the plan does not have for the provider, as a sentence. Settings that only the plan has may be
/// those that the core adds.
pub(super) fn settings(plan: &Plan) -> Option<String> {
    let (name, config) = of_spec(plan);
    let (name, planned) = name.and_then(|name| Some((name, &plan.binding.providers.get(name)?.config)))?;
    other_setting(planned, &config, planned).map(|setting| is_other_setting(&setting, name))
}

fn is_other_setting(setting: &str, provider: &str) -> String {
    format!("the setting {setting} of the provider {provider} is not that of its spec")
}

/// The first part of the binding that does not belong to the providers of the spec in the plan, as a sentence. [`digests`] must be
/// compared too.
pub(super) fn fault(plan: &Plan, providers: &Providers) -> Option<String> {
    let (own_name, own_config) = of_spec(plan);
    for (name, handle) in providers.iter() {
        let Some(pin) = plan.binding.providers.get(name) else {
            let Some(change) = plan.changes.iter().find(|change| change.provider == name) else { continue };
            return Some(format!(
                "{} is of the provider {name}, which the plan does not name",
                change.address
            ));
        };
        if is_elsewhere(plan, &pin.scope, handle.session.scope()) {
            return Some(format!(
                "the account or region of the provider {name} is not the one that apply has access to"
            ));
        }
        let wanted = if own_name == Some(name) { &own_config } else { &handle.pin.config };
        if let Some(setting) = other_setting(&pin.config, wanted, &handle.pin.config) {
            return Some(is_other_setting(&setting, name));
        }
    }
    None
}

/// Whether a plan is for another account or region than a session is open for. A plan without a state that was made offline knows
/// no account.
fn is_elsewhere(plan: &Plan, planned: &Scope, opened: &Scope) -> bool {
    let knows_none = plan.binding.generation.is_none() && planned.account.is_empty();
    planned.region != opened.region || planned.account != opened.account && !knows_none
}

/// The first setting that is not as it is wanted. The core adds settings that depend on where a command runs: their values are not
/// compared.
fn other_setting(planned: &Value, wanted: &Value, opened: &Value) -> Option<String> {
    let keys = |value: &Value| -> Vec<String> {
        value.as_map().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let is_other = |key: &String| match wanted.get(key).filter(|value| !value.is_null()) {
        Some(value) => planned.get(key) != Some(value),
        None => planned.get(key).is_some_and(|value| !value.is_null()) && opened.get(key).is_none(),
    };
    keys(wanted).into_iter().chain(keys(planned)).find(is_other)
}
