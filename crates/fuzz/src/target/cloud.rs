use std::collections::BTreeMap;

use anyhow::Result;
use slipway_aws_model::normalise::normalised;
use slipway_aws_model::plan::plan;
use slipway_aws_model::types;
use slipway_resource::provider::PlanItem;
use slipway_resource::{Address, ResourceType, Value};

use super::Verdict;

/// The observed and desired attributes of AWS resources, as `{"kind": {"desired": …, "observed": …}}`.
pub(super) fn resources() -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for (name, resource) in types::all() {
        let attributes: BTreeMap<&String, serde_json::Value> =
            resource.attributes.keys().map(|attribute| (attribute, sample(resource, attribute))).collect();
        let both = serde_json::json!({ name.as_str(): { "desired": attributes, "observed": attributes } });
        all.push(serde_json::to_vec(&both)?);
        // Attributes that AWS alone sets are refused in a spec, and most are optional: one at a time reaches further.
        let name = name.as_str();
        for attribute in resource.attributes.keys() {
            let own = serde_json::json!({ attribute.as_str(): sample(resource, attribute) });
            all.push(serde_json::to_vec(&serde_json::json!({ name: { "desired": own, "observed": own } }))?);
        }
    }
    Ok(all)
}

fn sample(resource: &ResourceType, attribute: &str) -> serde_json::Value {
    use slipway_resource::Type;
    let range = attribute.contains("cidr");
    match resource.attributes.get(attribute).map(|attribute| &attribute.kind) {
        Some(Type::Bool) => true.into(),
        Some(Type::Integer) => 3.into(),
        Some(Type::Float) => 0.5.into(),
        Some(Type::List(_) | Type::Set(_)) => serde_json::json!([if range { "10.0.0.0/16" } else { "a" }]),
        Some(Type::Map(_)) => serde_json::json!({ "Name": "a" }),
        _ if range => "10.0.0.0/16".into(),
        _ if attribute.contains("policy") => "{\"Version\":\"2012-10-17\",\"Statement\":[]}".into(),
        _ => "a".into(),
    }
}

/// Normalises and plans resources. The normal form of a normal form is itself.
pub(super) fn resource(input: &[u8]) -> Verdict {
    let json: BTreeMap<String, BTreeMap<String, serde_json::Value>> = match serde_json::from_slice(input) {
        Ok(json) => json,
        Err(error) if error.is_data() => return Verdict::content(error),
        Err(error) => return Verdict::syntax(error),
    };
    let mut planned = false;
    let mut said = String::new();
    for (kind, both) in json {
        for value in both.values() {
            let once = normalised(&kind, &Value::from_json(value));
            if normalised(&kind, &once) != once {
                return Verdict::lawful(false, "the normal form of a normal form is itself");
            }
        }
        let of = |name: &str| both.get(name).map(Value::from_json);
        let Ok(address) = format!("{kind}.main").parse::<Address>() else { continue };
        let item = PlanItem { address, desired: of("desired"), observed: of("observed"), last_applied: None };
        match plan(&item) {
            Ok(_) => planned = true,
            Err(error) => said.push_str(&error.to_string()),
        }
        said.push_str(&kind);
    }
    if planned { Verdict::taken(said) } else { Verdict::content(said) }
}
