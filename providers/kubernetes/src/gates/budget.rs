//! The blockers of a drain: budgets that allow no disruption, for pods that must leave.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use slipway_resource::ProviderError;

use super::evict::leaves;
use crate::api::{Connection, Selector};
use crate::object::text;

impl Connection {
    /// For each node, by name, the budgets that block its drain now, as `budget default/web allows 0 disruptions`. A node that
    /// is missing has none.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn blockers(&self) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
        let of = ("policy/v1", "PodDisruptionBudget");
        let budgets = self.list_all("/apis/policy/v1/poddisruptionbudgets", of, Selector::All).await?;
        let tight: Vec<&Json> = budgets.iter().filter(|budget| allows_none(budget)).collect();
        if tight.is_empty() {
            return Ok(BTreeMap::new());
        }
        let pods = self.list_all("/api/v1/pods", ("v1", "Pod"), Selector::All).await?;
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| leaves(pod)) {
            let Some(node) = text(pod, "/spec/nodeName") else { continue };
            let blockers = found.entry(node.to_owned()).or_default();
            for budget in tight.iter().filter(|budget| covers(budget, pod)) {
                let name = text(budget, "/metadata/name").unwrap_or_default();
                let namespace = text(budget, "/metadata/namespace").unwrap_or_default();
                let blocker = format!("budget {namespace}/{name} allows 0 disruptions");
                if !blockers.contains(&blocker) {
                    blockers.push(blocker);
                }
            }
        }
        found.retain(|_, blockers| !blockers.is_empty());
        found.values_mut().for_each(|blockers| blockers.sort());
        Ok(found)
    }
}

fn allows_none(budget: &Json) -> bool {
    budget.pointer("/status/disruptionsAllowed").and_then(Json::as_i64).unwrap_or_default() <= 0
}

/// Whether a budget is about a pod: of its namespace, and by its selector. An empty selector selects all pods, a missing
/// one none (policy/v1).
fn covers(budget: &Json, pod: &Json) -> bool {
    let Some(selector) = budget.pointer("/spec/selector") else { return false };
    let label = |key: &str| pod.pointer("/metadata/labels").and_then(|labels| labels.get(key)?.as_str());
    let equal = selector.get("matchLabels").and_then(Json::as_object).into_iter().flatten();
    let expressions = selector.get("matchExpressions").and_then(Json::as_array).into_iter().flatten();
    let fits = |expression: &Json| {
        let found = label(text(expression, "/key").unwrap_or_default());
        let values = expression.get("values").and_then(Json::as_array).into_iter().flatten();
        let is_one_of = values.filter_map(Json::as_str).any(|value| found == Some(value));
        match text(expression, "/operator") {
            Some("In") => is_one_of,
            Some("NotIn") => !is_one_of,
            Some("Exists") => found.is_some(),
            Some("DoesNotExist") => found.is_none(),
            _ => false,
        }
    };
    text(budget, "/metadata/namespace") == text(pod, "/metadata/namespace")
        && equal.into_iter().all(|(key, value)| label(key) == value.as_str())
        && expressions.into_iter().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_budget_covers_pods_by_its_selector() {
        let pod = json!({"metadata": {"namespace": "default", "labels": {"app": "web", "tier": "front"}}});
        let covers = |selector: Json| {
            covers(&json!({"metadata": {"namespace": "default"}, "spec": {"selector": selector}}), &pod)
        };
        assert!(covers(json!({})));
        assert!(covers(json!({"matchLabels": {"app": "web"}})));
        assert!(!covers(json!({"matchLabels": {"app": "web", "tier": "back"}})));
        let expression = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
        assert!(covers(expression("In", &["web", "api"])) && !covers(expression("NotIn", &["web"])));
        assert!(covers(expression("Exists", &[])) && !covers(expression("DoesNotExist", &[])));
        let elsewhere = json!({"metadata": {"namespace": "other"}, "spec": {"selector": {}}});
        assert!(!super::covers(&elsewhere, &pod));
        assert!(!super::covers(&json!({"metadata": {"namespace": "default"}, "spec": {}}), &pod));
        assert!(allows_none(&json!({})) && !allows_none(&json!({"status": {"disruptionsAllowed": 1}})));
    }
}
