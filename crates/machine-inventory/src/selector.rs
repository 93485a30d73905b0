//! Label selectors, with the rules of the Kubernetes API.

use std::collections::BTreeMap;

use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Whether an object has the labels that a selector asks for. No selector, and an empty one, match every object. An
/// operator that is not known matches none.
#[must_use]
pub fn matches(selector: Option<&LabelSelector>, metadata: &ObjectMeta) -> bool {
    let none = BTreeMap::new();
    let labels = metadata.labels.as_ref().unwrap_or(&none);
    let Some(selector) = selector else { return true };
    let by_labels = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let by_expressions = selector.match_expressions.iter().flatten().all(|expression| {
        let value = labels.get(&expression.key);
        let listed = || value.is_some_and(|value| expression.values.iter().flatten().any(|one| one == value));
        match expression.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    by_labels && by_expressions
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn selectors_match_as_in_the_kubernetes_api() {
        let metadata: ObjectMeta =
            serde_json::from_value(json!({"labels": {"role": "control-plane", "rack": "1"}})).unwrap();
        let expression = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "rack", "operator": operator, "values": values}]});
        let cases: [(Json, bool); 10] = [
            (json!({}), true),
            (json!({"matchLabels": {"role": "control-plane"}}), true),
            (json!({"matchLabels": {"role": "worker"}}), false),
            (json!({"matchLabels": {"role": "control-plane", "rack": "2"}}), false),
            (expression("In", &["1", "2"]), true),
            (expression("NotIn", &["1"]), false),
            (expression("Exists", &[]), true),
            (expression("DoesNotExist", &[]), false),
            (expression("Near", &["1"]), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), true),
        ];
        for (selector, expected) in cases {
            let read: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(matches(Some(&read), &metadata), expected, "{selector}");
        }
        assert!(matches(None, &metadata));
    }
}
