//! How machines are paid for: on demand, on the spot market, or a mix of several types of both.

use serde_json::Value as Json;
use slipway_cluster_input::value::Quantity;
use slipway_cluster_input::{MixedInstances, NodePool};
use slipway_resource::{Address, ProviderError, Value};

use crate::expand::build::{Builder, id_of};
use crate::expand::refuse;

/// The spot options of a launch template. Where machines are mixed, the group says what they may cost.
pub(super) fn market_options(builder: &Builder<'_>, pool: &NodePool) -> Option<Value> {
    let settings = builder.pool_settings(pool);
    let spot = pool.spot.as_ref().filter(|_| pool.mixed_instances.is_none())?;
    let options = Value::map([
        ("max_price", Value::from(spot.max_price.clone())),
        ("block_duration_minutes", Value::from(settings.spot_duration_in_minutes)),
        ("instance_interruption_behavior", Value::from(settings.instance_interruption_behavior)),
    ]);
    let market =
        Value::map([("market_type", Value::from("spot")), ("spot_options", Value::List(vec![options]))]);
    Some(Value::List(vec![market]))
}

/// The policy of a group with several types of machines.
pub(super) fn mixed(
    builder: &Builder<'_>,
    pool: &NodePool,
    mix: &MixedInstances,
    template: &Address,
) -> Result<Value, ProviderError> {
    let settings = builder.pool_settings(pool).mixed_instances_policy;
    let price = pool.spot.as_ref().and_then(|spot| spot.max_price.clone()).unwrap_or_default();
    let above = i64::from(mix.on_demand_percentage_above_base);
    let distribution = Value::map([
        ("on_demand_allocation_strategy", Value::from(settings.on_demand_allocation_strategy)),
        ("on_demand_base_capacity", Value::from(mix.on_demand_base)),
        ("on_demand_percentage_above_base_capacity", Value::from(above)),
        ("spot_allocation_strategy", Value::from(mix.spot_allocation_strategy.clone())),
        ("spot_instance_pools", Value::from(mix.spot_pools)),
        ("spot_max_price", Value::from(price)),
    ]);
    let mut overrides: Vec<Value> = Vec::new();
    if let Some(wanted) = &settings.instance_requirements {
        let requirements = requirements(wanted).map_err(|message| {
            let field =
                format!("pools[{}].providerConfig.mixedInstancesPolicy.instanceRequirements", pool.name);
            refuse(
                &field,
                &message,
                "write quantities as in 4 and 8Gi, and generations as Current or Previous",
            )
        })?;
        overrides.push(Value::map([("instance_requirements", Value::List(vec![requirements]))]));
    } else {
        let of = |machine: &String| Value::map([("instance_type", machine.as_str())]);
        overrides.extend(mix.machine_types.iter().map(of));
    }
    let specification = Value::map([
        ("launch_template_id", id_of(template)),
        ("version", Value::reference(template.clone(), "latest_version")),
    ]);
    let launch = Value::map([
        ("launch_template_specification", Value::List(vec![specification])),
        ("override", Value::List(overrides)),
    ]);
    let policy = Value::map([
        ("instances_distribution", Value::List(vec![distribution])),
        ("launch_template", Value::List(vec![launch])),
    ]);
    Ok(Value::List(vec![policy]))
}

/// The requirements of machines, in place of a list of types: processors and memory in the notation of
/// Kubernetes.
fn requirements(wanted: &Json) -> Result<Value, String> {
    let range = |name: &str, scale: f64| -> Result<Value, String> {
        let end = |end: &str| -> Result<Option<i64>, String> {
            let Some(given) =
                wanted.get(name).and_then(|range| range.get(end)).filter(|given| !given.is_null())
            else {
                return Ok(None);
            };
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            let quantity: Quantity =
                text.parse().map_err(|error| format!("{name}.{end}: {text:?} {error}"))?;
            let whole = format!("{:.0}", (quantity.to_f64() / scale).ceil());
            whole.parse().map(Some).map_err(|_| format!("{name}.{end}: {text:?} is out of range"))
        };
        // AWS wants a least.
        let least = end("min")?.unwrap_or(0);
        Ok(Value::List(vec![Value::map([("min", Value::from(least)), ("max", Value::from(end("max")?))])]))
    };
    let excluded: Option<Vec<String>> = wanted
        .get("excludedInstanceTypes")
        .filter(|list| !list.is_null())
        .map(|list| serde_json::from_value(list.clone()))
        .transpose()
        .map_err(|error| format!("excludedInstanceTypes: {error}"))?;
    Ok(Value::map([
        ("vcpu_count", range("cpu", 1.0)?),
        // Megabytes, as kOps has it: AWS takes the number for mebibytes.
        ("memory_mib", range("memory", 1e6)?),
        ("burstable_performance", Value::from("included")),
        ("excluded_instance_types", Value::from(excluded)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_have_a_least() {
        let wanted = serde_json::json!({ "cpu": { "min": "2", "max": 16 }, "memory": { "max": "16G" } });
        let found = requirements(&wanted).unwrap().to_json();
        assert_eq!(found["vcpu_count"], serde_json::json!([{ "min": 2, "max": 16 }]));
        assert_eq!(found["memory_mib"], serde_json::json!([{ "min": 0, "max": 16000 }]));
        assert!(requirements(&serde_json::json!({ "cpu": { "min": "many" } })).is_err());
    }
}
