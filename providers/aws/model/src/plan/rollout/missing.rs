//! Instances that a group lacks: because a zone or the cloud's capacity is gone, an instance was interrupted or ended from outside.
//!
//! The group launches them by itself, so a plan has no step for them. A sentence of the plan says what is missing.

use std::collections::BTreeSet;

use slipway_resource::Value;

use super::{instances, is_detached, is_ready, text};

/// The sentence on a group with fewer instances in service than its size; `None` for other groups, and for groups whose
/// instances count with weights.
pub(in crate::plan) fn sentence(observed: &Value) -> Option<String> {
    observed.get("instances").and_then(Value::as_list)?;
    let desired = usize::try_from(observed.get("desired_capacity").and_then(Value::as_integer)?).ok()?;
    let inside: Vec<&Value> =
        instances(observed).into_iter().filter(|instance| !is_detached(instance)).collect();
    let (serving, others): (Vec<&Value>, Vec<&Value>) =
        inside.into_iter().partition(|instance| is_ready(instance));
    if serving.len() >= desired || is_weighted(observed) {
        return None;
    }
    let zones: BTreeSet<&str> = serving.iter().filter_map(|instance| text(instance, "zone")).collect();
    let zones = match zones.into_iter().collect::<Vec<_>>() {
        zones if zones.is_empty() => String::new(),
        zones => format!(", in {}", zones.join(" and ")),
    };
    let state = |instance: &&Value| {
        let id = text(instance, "id").unwrap_or_default();
        let health = text(instance, "health").filter(|health| *health != "Healthy");
        format!("{id} is {}", health.or(text(instance, "state")).unwrap_or("in no known state"))
    };
    let others: Vec<String> = others.iter().map(state).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    Some(format!(
        "{} of {desired} instances are in service{zones}{others}. AWS launches what is missing; if it does not, the scaling activities of \
         the group say why",
        serving.len()
    ))
}

/// Whether the instances of a group count as much as their types say.
fn is_weighted(group: &Value) -> bool {
    let first = |value: &Value, name: &str| value.get(name)?.as_list()?.first().cloned();
    let template =
        first(group, "mixed_instances_policy").and_then(|policy| first(&policy, "launch_template"));
    let overrides = template.as_ref().and_then(|template| template.get("override")?.as_list());
    let has_weight = |one: &Value| one.get("weighted_capacity").is_some_and(|weight| !weight.is_null());
    overrides.is_some_and(|overrides| overrides.iter().any(has_weight))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn instance(id: &str, zone: &str, health: &str) -> Json {
        json!({"id": id, "zone": zone, "state": "InService", "health": health})
    }

    fn group(instances: &[Json]) -> Json {
        json!({"name": "nodes", "desired_capacity": 3, "instances": instances})
    }

    #[test]
    fn a_group_without_the_instances_of_a_zone_is_named() {
        let all = ["a", "b", "c"].map(|zone| instance(&format!("i-{zone}"), zone, "Healthy"));
        assert_eq!(sentence(&Value::from_json(&group(&all))), None);
        let left = sentence(&Value::from_json(&group(&all[..2]))).unwrap();
        assert!(left.starts_with("2 of 3 instances are in service, in a and b. AWS launches"), "{left}");
        let ill = [all[0].clone(), instance("i-b", "b", "Unhealthy")];
        let left = sentence(&Value::from_json(&group(&ill))).unwrap();
        assert!(
            left.starts_with("1 of 3 instances are in service, in a; i-b is Unhealthy. AWS launches"),
            "{left}"
        );
        let none = sentence(&Value::from_json(&group(&[]))).unwrap();
        assert!(none.starts_with("0 of 3 instances are in service. AWS"), "{none}");
    }

    #[test]
    fn a_group_of_weights_or_without_known_instances_says_nothing() {
        let mut weighted = group(&[instance("i-a", "a", "Healthy")]);
        weighted["mixed_instances_policy"] = json!([{"launch_template": [{"override": [{"instance_type": "m5.large", "weighted_capacity": "3"}]}]}]);
        assert_eq!(sentence(&Value::from_json(&weighted)), None);
        assert_eq!(sentence(&Value::from_json(&json!({"name": "nodes", "desired_capacity": 3}))), None);
    }
}
