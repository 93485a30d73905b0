//! Gates of the spec: conditions that users write over objects of the cluster and over results of Prometheus.

use serde_json::{Value as Json, json};
use slipway_expressions::Condition;
use slipway_provider_kubernetes::Reader;
use slipway_resource::ErrorClass;
use slipway_resource::provider::{ExpandNote, PreflightFinding};
use slipway_spec::model;

use super::{Closed, Gate, is_waived, waived};
use crate::access::ClusterAccess;
use crate::health;

/// The field of the spec with the gates.
const FIELD: &str = "controlPlane.gates";

/// The way out of a gate that does not hold.
const HINT: &str = "mend what the gate reads; or waive it: `waived: REASON` in the gate, in `controlPlane.gates` of the spec";

/// The name of a gate of the spec in plans.
fn shown_name(gate: &model::Gate) -> String {
    format!("Gate--{}", gate.name)
}

/// Reads the cluster, and returns the gates that do not hold, without those that the spec waives. A gate that cannot be read or
/// evaluated does not hold.
pub(in crate::planning) async fn look(access: &ClusterAccess, gates: &[model::Gate]) -> Vec<Gate> {
    let counted: Vec<&model::Gate> = gates.iter().filter(|gate| gate.waived.is_none()).collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let api = match health::api(access).await {
        Ok(api) => api,
        Err(error) => Err(error.to_string()),
    };
    let mut broken = Vec::new();
    for gate in counted {
        let problem = match &api {
            Ok(api) => problem(api, gate).await,
            Err(reason) => Some(format!("it cannot be read: {reason}")),
        };
        broken.extend(problem.map(|message| Gate { name: shown_name(gate), message, hint: HINT }));
    }
    broken
}

/// What a plan says about the gates of the spec: `broken` are those that do not hold.
pub(in crate::planning) fn closed(gates: &[model::Gate], broken: Vec<Gate>, config: &Json) -> Closed {
    let mut closed = Closed::default();
    let note = |message: String| ExpandNote { field: FIELD.to_owned(), message };
    for gate in gates {
        let name = shown_name(gate);
        match &gate.waived {
            Some(reason) => closed.notes.push(note(format!("the gate {name} is waived: {reason}"))),
            None if broken.iter().any(|broken| broken.name == name) => {}
            None => closed.notes.push(note(format!("the gate {name} holds"))),
        }
    }
    let by_setting = waived(config);
    for Gate { name, message, hint } in broken {
        if is_waived(&name, &by_setting) {
            closed.notes.push(note(format!("the gate {name} is waived: {message}")));
            continue;
        }
        closed.findings.push(PreflightFinding {
            address: None,
            class: ErrorClass::PreconditionFailed,
            message: format!("{name}: {message}"),
            hint: Some(hint.to_owned()),
        });
    }
    closed
}

/// The remark on gates that are not read, because somebody else wrote the spec.
pub(in crate::planning) fn unread() -> Closed {
    let message = "the gates of the spec are not read: the spec is not trusted".to_owned();
    Closed { notes: vec![ExpandNote { field: FIELD.to_owned(), message }], ..Closed::default() }
}

/// Why a gate does not hold; `None` if it does.
async fn problem(api: &Reader, gate: &model::Gate) -> Option<String> {
    let inputs = match read(api, gate).await {
        Ok(inputs) => inputs,
        Err(reason) => return Some(format!("it cannot be read: {reason}")),
    };
    let expression = gate.expression.clone();
    match tokio::task::spawn_blocking(move || holds(&expression, &inputs)).await {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some(format!("`{}` is false", gate.expression.trim())),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("its evaluation failed".to_owned()),
    }
}

/// Whether an expression is true for these values of its variables.
fn holds(expression: &str, inputs: &[(&'static str, Json)]) -> Result<bool, slipway_expressions::Error> {
    let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
    let values: Vec<(&str, &Json)> = inputs.iter().map(|(name, value)| (*name, value)).collect();
    Condition::parse(expression, &names)?.holds(&values)
}

/// The values of the variables of a gate.
async fn read(api: &Reader, gate: &model::Gate) -> Result<Vec<(&'static str, Json)>, String> {
    let mut inputs = Vec::new();
    if let Some(model::GateObjects { api_version, kind, namespace, label_selector }) = &gate.objects {
        let (namespace, labels) = (namespace.as_deref().unwrap_or_default(), label_selector.as_deref());
        let found = api.objects((api_version.as_str(), kind.as_str()), namespace, labels).await;
        let objects = found.map_err(|error| error.message)?;
        let objects = objects.ok_or_else(|| format!("the cluster has no kind {kind} in {api_version}"))?;
        inputs.push(("objects", Json::Array(objects)));
    }
    if let Some(model::GateQuery { namespace, service, port, query }) = &gate.prometheus {
        let answer = api.prometheus((namespace.as_str(), service.as_str(), *port), query).await;
        inputs.push(("samples", samples(&answer.map_err(|error| error.message)?)?));
    }
    Ok(inputs)
}

/// The samples in an answer of Prometheus (<https://prometheus.io/docs/prometheus/latest/querying/api/>). A value that is not a
/// number is null, so that no comparison with it is true.
fn samples(answer: &Json) -> Result<Json, String> {
    let result =
        answer.pointer("/data/result").and_then(Json::as_array).ok_or("Prometheus sends no result")?;
    match answer.pointer("/data/resultType").and_then(Json::as_str) {
        Some("vector") => {
            let sample = |item: &Json| {
                let labels = item.get("metric").cloned().unwrap_or_else(|| json!({}));
                json!({ "labels": labels, "value": item.pointer("/value/1").and_then(number) })
            };
            Ok(Json::Array(result.iter().map(sample).collect()))
        }
        Some("scalar") => Ok(json!([{ "labels": {}, "value": result.get(1).and_then(number) }])),
        other => Err(format!(
            "the result of the query is a {}, not a vector or a scalar",
            other.unwrap_or("thing without a type")
        )),
    }
}

/// A number, which Prometheus sends as a text.
fn number(text: &Json) -> Option<f64> {
    text.as_str()?.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(name: &str, waived: Option<&str>) -> model::Gate {
        model::Gate {
            name: name.to_owned(),
            expression: "true".to_owned(),
            objects: None,
            prometheus: None,
            waived: waived.map(str::to_owned),
        }
    }

    fn broken(name: &str) -> Gate {
        Gate { name: format!("Gate--{name}"), message: "`x` is false".to_owned(), hint: HINT }
    }

    #[test]
    fn a_plan_names_each_gate_with_its_result() {
        let gates = [gate("a", None), gate("b", None), gate("c", Some("known until Friday"))];
        let found = closed(&gates, vec![broken("b")], &Json::Null);
        let notes: Vec<&str> = found.notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(notes, ["the gate Gate--a holds", "the gate Gate--c is waived: known until Friday"]);
        assert_eq!(found.findings.len(), 1);
        assert_eq!(found.findings[0].message, "Gate--b: `x` is false");
        assert!(found.findings[0].hint.as_deref().unwrap().contains("`waived: REASON`"));
        let waived = closed(&gates, vec![broken("b")], &json!({ "ignore_preflight_errors": ["gate--B"] }));
        assert!(waived.findings.is_empty());
        assert_eq!(waived.notes[2].message, "the gate Gate--b is waived: `x` is false");
    }

    #[test]
    fn expressions_read_objects_and_samples() {
        let pods = json!([{ "status": { "phase": "Running" } }, { "status": {} }]);
        let inputs = [("objects", pods), ("samples", json!([{ "labels": {}, "value": 0.5 }]))];
        let result = |expression: &str| holds(expression, &inputs).map_err(|error| error.to_string());
        assert_eq!(result("size(objects) == 2 && samples.all(s, s.value < 1.0)"), Ok(true));
        assert_eq!(result("samples.exists(s, s.value > 1)"), Ok(false));
        let absent = result("objects.all(o, o.status.phase == 'Running')").unwrap_err();
        assert!(absent.contains("the field `phase` does not exist"), "{absent}");
    }

    #[test]
    fn samples_are_read_from_vectors_and_scalars() {
        let vector = json!({ "status": "success", "data": { "resultType": "vector", "result": [
            { "metric": { "job": "a" }, "value": [1764277200.1, "0.25"] },
            { "metric": {}, "value": [1764277200.1, "NaN"] },
        ] } });
        let expected = json!([{ "labels": { "job": "a" }, "value": 0.25 }, { "labels": {}, "value": null }]);
        assert_eq!(samples(&vector), Ok(expected));
        let scalar = json!({ "data": { "resultType": "scalar", "result": [1764277200, "3"] } });
        assert_eq!(samples(&scalar), Ok(json!([{ "labels": {}, "value": 3.0 }])));
        let matrix = json!({ "data": { "resultType": "matrix", "result": [] } });
        assert!(samples(&matrix).unwrap_err().contains("is a matrix"));
        assert!(samples(&json!({})).unwrap_err().contains("no result"));
    }
}
