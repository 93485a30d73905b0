//! The plans of the reference provider, without its cloud.

use slipway_provider_sdk::cluster;
use slipway_resource::provider::{ExpandNote, ExpandRequest, Expansion, PlanItem, Planned};
use slipway_resource::{
    Address, Desired, Entries, ErrorClass, Mode, ProviderError, ResourceType, Schema, Value,
};

use crate::defect::Defect;
use crate::kinds::{MACHINE, NETWORK};

pub fn invalid(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, message)
}

pub fn kind<'a>(schema: &'a Schema, address: &Address) -> Result<&'a ResourceType, ProviderError> {
    schema
        .types
        .get(address.kind())
        .ok_or_else(|| invalid(format!("{}: there is no such type", address.kind())).with_address(address))
}

/// Plans one change. `number` counts calls, for the defect of not being pure.
pub fn plan(schema: &Schema, item: PlanItem, number: u64, defect: &Defect) -> Result<Planned, ProviderError> {
    let kind = kind(schema, &item.address)?;
    let Some(desired) = item.desired else {
        return Ok(Planned::default());
    };
    let wanted = desired.as_map().cloned().unwrap_or_default();
    if let Some(name) = wanted.keys().find(|name| !kind.attributes.contains_key(*name)) {
        return Err(invalid(format!("{name} is not an attribute")).with_address(&item.address));
    }
    if defect.breaks("plan-takes-unknown") && wanted.values().any(|value| matches!(value, Value::Unknown)) {
        return Err(invalid("a value is not known").with_address(&item.address));
    }
    let mut normalised = Entries::new();
    for (name, attribute) in &kind.attributes {
        let value = match wanted.get(name) {
            Some(value) if attribute.mode != Mode::Computed => normal(name, value, defect),
            _ if attribute.mode == Mode::Computed => match &item.observed {
                Some(observed) => observed.get(name).cloned().unwrap_or(Value::Unknown),
                None => Value::Unknown,
            },
            _ => attribute.default.clone(),
        };
        if !value.is_null() {
            normalised.insert(name.clone(), value);
        }
    }
    let mut reasons = vec!["as the reference provider sees it".to_owned()];
    if defect.breaks("plan-pure") {
        reasons.push(format!("for the time number {number}"));
    }
    Ok(Planned { normalised: Value::Map(normalised), reasons, ..Planned::default() })
}

/// Names are small; with the defect, small names become large.
fn normal(name: &str, value: &Value, defect: &Defect) -> Value {
    match value {
        Value::String(text) if name == "name" => {
            let small = text.to_lowercase();
            if defect.breaks("plan-idempotent") && small == *text {
                return Value::String(text.to_uppercase());
            }
            Value::String(small)
        }
        Value::Integer(_) if name == "size" && defect.breaks("plan-keeps-values") => Value::Integer(666),
        Value::Map(labels) if name == "labels" && defect.breaks("plan-keeps-texts") => {
            Value::map(labels.keys().map(|label| (label.as_str(), "666")))
        }
        other => other.clone(),
    }
}

/// A network, and a machine for each pool.
///
/// # Errors
/// `invalid` for a field of the cluster that must be understood, and is not known.
pub fn expand(request: &ExpandRequest, number: u64, defect: &Defect) -> Result<Expansion, ProviderError> {
    let mut notes = match cluster::check(&request.cluster) {
        Err(error) if !defect.breaks("expand-must-understand") => return Err(error),
        Ok(notes) if !defect.breaks("expand-ignores-unknown") => notes,
        Ok(_) | Err(_) => Vec::new(),
    };
    let cluster = request.cluster["name"].as_str().unwrap_or("cluster");
    let network = Address::new(NETWORK, cluster);
    let attributes = Value::map([("cidr", "10.0.0.0/16"), ("name", cluster)]);
    let mut resources = vec![Desired::new(network.clone(), attributes)];
    let pools = request.cluster["pools"].as_array().map_or(&[][..], Vec::as_slice);
    for (position, pool) in pools.iter().enumerate() {
        let mut size = pool["size"].as_i64().unwrap_or(1);
        if defect.breaks("expand-order") {
            size += i64::try_from(position).unwrap_or(0);
        }
        let mut attributes = Value::map([
            ("network", Value::reference(network.clone(), "id")),
            ("size", Value::Integer(size)),
        ]);
        if defect.breaks("expand-fits") {
            attributes.set(&slipway_resource::Path::key("colour"), "red".into());
        }
        let name = pool["name"].as_str().unwrap_or("pool");
        resources.push(Desired::new(Address::new(MACHINE, name), attributes));
    }
    resources.sort_by(|left, right| left.address.cmp(&right.address));
    if defect.breaks("expand-pure") {
        notes.push(ExpandNote {
            field: "name".to_owned(),
            message: format!("asked for the time number {number}"),
        });
    }
    Ok(Expansion { resources, notes })
}
