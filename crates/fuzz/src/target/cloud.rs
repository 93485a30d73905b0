use std::collections::BTreeMap;

use anyhow::Result;
use slipway_aws_model::normalise::normalised;
use slipway_aws_model::plan::plan;
use slipway_aws_model::types;
use slipway_resource::provider::PlanItem;
use slipway_resource::{Address, ResourceType, Value};

use super::words;

/// The observed and desired attributes of AWS resources, as `{"kind": {"desired": …, "observed": …}}`.
pub(super) fn resources() -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for (name, resource) in types::all() {
        let attributes: BTreeMap<&String, serde_json::Value> =
            resource.attributes.keys().map(|attribute| (attribute, sample(resource, attribute))).collect();
        let both = serde_json::json!({ name.as_str(): { "desired": attributes, "observed": attributes } });
        all.push(serde_json::to_vec_pretty(&both)?);
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

pub(super) fn resource(input: &[u8]) -> String {
    let json: BTreeMap<String, BTreeMap<String, serde_json::Value>> = match serde_json::from_slice(input) {
        Ok(json) => json,
        Err(error) => return error.to_string(),
    };
    let mut said = String::new();
    for (kind, both) in json {
        let of = |name: &str| both.get(name).map(Value::from_json);
        for value in both.values() {
            said.push_str(
                &normalised(&kind, &Value::from_json(value)).to_json().to_string().len().ilog2().to_string(),
            );
        }
        let Ok(address) = format!("{kind}.main").parse::<Address>() else { continue };
        let item = PlanItem { address, desired: of("desired"), observed: of("observed"), last_applied: None };
        said.push_str(&words(plan(&item)));
    }
    said
}
