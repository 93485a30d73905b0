//! Nodes as resources: the fields of a Node that Slipway sets, and how they are read. Pure.
//!
//! Slipway owns labels and annotations by server-side apply. The taints of a node are one list with many
//! writers, so an annotation names the taints that Slipway set.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Identity, Path, ProviderError, Value};

use crate::fields;
use crate::manifest::invalid;
use crate::marks::{self, MANAGER};
use crate::object::{GroupKind, ObjectKey, text};

/// The annotation with the taints that are Slipway's, as `key:effect`, separated by commas.
const TAINTS: &str = "slipway.dev/taints";

/// The annotation with the common name of the authority that has signed the serving certificate of the kubelet.
pub(crate) const SERVING_AUTHORITY: &str = "slipway.dev/serving-authority";

/// The kind of nodes.
pub(crate) fn kind() -> GroupKind {
    GroupKind::new("", "Node")
}

/// The node that a resource is about.
pub(crate) fn key_of(attributes: &Value) -> Option<ObjectKey> {
    let name = attributes.get("name")?.as_str()?.to_owned();
    Some(ObjectKey { kind: kind(), namespace: String::new(), name })
}

/// The identity of a node is its name: its kubelet registers the Node again after it was deleted.
pub(crate) fn identity_of(key: &ObjectKey) -> Identity {
    Identity::new(format!("{}//{}", key.kind, key.name))
}

/// The attributes of a live node.
pub(crate) fn attributes(live: &Json) -> Value {
    let ours = fields::applied_by(live, MANAGER).map(|ours| ours.fields.project(live)).unwrap_or_default();
    let mut ours = ours;
    marks::strip(&mut ours);
    let map = |name: &str| {
        let entries =
            ours.pointer(&format!("/metadata/{name}")).and_then(Json::as_object).into_iter().flatten();
        let entries = entries.filter(|(key, _)| *key != TAINTS);
        let map = Value::map(entries.map(|(key, value)| (key.clone(), Value::from_json(value))));
        map.as_map().is_some_and(|map| !map.is_empty()).then_some(map)
    };
    let known = known_taints(live);
    let taints: Vec<Value> = taints(live)
        .filter(|taint| known.contains(&name_of(taint)))
        .map(Value::from_json)
        .map(bare)
        .collect();
    Value::map([
        ("name", text(live, "/metadata/name").into()),
        ("labels", map("labels").into()),
        ("annotations", map("annotations").into()),
        ("taints", if taints.is_empty() { Value::Null } else { Value::List(taints) }),
        ("provider_id", text(live, "/spec/providerID").into()),
        ("uid", text(live, "/metadata/uid").into()),
    ])
}

/// The desired attributes of a live node that Slipway has not marked; `None` for a marked node.
pub(crate) fn seen(live: &Json, desired: &Value) -> Option<Value> {
    if fields::applied_by(live, MANAGER).is_some() {
        return None;
    }
    let mut seen = attributes(live);
    for name in ["labels", "annotations"] {
        let there = live.pointer(&format!("/metadata/{name}"));
        let wanted = desired.get(name).and_then(Value::as_map).into_iter().flatten();
        let found = wanted.filter_map(|(key, _)| Some((key.clone(), Value::from_json(there?.get(key)?))));
        let found = Value::map(found);
        if found.as_map().is_some_and(|found| !found.is_empty()) {
            seen.set(&Path::key(name), found);
        }
    }
    let wanted: BTreeSet<String> = wanted_taints(desired).iter().map(name_of).collect();
    let found: Vec<Value> = taints(live)
        .filter(|taint| wanted.contains(&name_of(taint)))
        .map(|taint| bare(Value::from_json(taint)))
        .collect();
    if !found.is_empty() {
        seen.set(&Path::key("taints"), Value::List(found));
    }
    Some(seen)
}

/// A taint without the time at which it came, and without an empty value.
fn bare(mut taint: Value) -> Value {
    if let Value::Map(entries) = &mut taint {
        entries.remove("timeAdded");
        entries.retain(|_, value| value.as_str() != Some(""));
    }
    taint
}

fn taints(live: &Json) -> impl Iterator<Item = &Json> {
    live.pointer("/spec/taints").and_then(Json::as_array).into_iter().flatten()
}

fn name_of(taint: &Json) -> String {
    format!("{}:{}", text(taint, "/key").unwrap_or_default(), text(taint, "/effect").unwrap_or_default())
}

fn known_taints(live: &Json) -> BTreeSet<String> {
    let annotation =
        live.pointer("/metadata/annotations").and_then(|annotations| annotations.get(TAINTS)?.as_str());
    annotation.unwrap_or_default().split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn wanted_taints(desired: &Value) -> Vec<Json> {
    let taints = desired.get("taints").and_then(Value::as_list).unwrap_or_default();
    taints.iter().map(|taint| bare(taint.clone()).to_json()).collect()
}

/// The desired taints of a node: those of other writers, and the desired ones in place of those that Slipway
/// set; `None` when nothing changes.
pub(crate) fn merged_taints(live: &Json, desired: &Value) -> Option<Vec<Json>> {
    let known = known_taints(live);
    let wanted = wanted_taints(desired);
    let replaced: BTreeSet<String> = wanted.iter().map(name_of).chain(known).collect();
    let mut merged: Vec<Json> =
        taints(live).filter(|taint| !replaced.contains(&name_of(taint))).cloned().collect();
    let same = |left: &Json, right: &Json| bare(Value::from_json(left)) == bare(Value::from_json(right));
    for taint in &wanted {
        // A taint that exists keeps its time.
        let found = taints(live).find(|live| same(live, taint));
        merged.push(found.unwrap_or(taint).clone());
    }
    let is_as_wanted = merged.len() == taints(live).count()
        && merged.iter().all(|taint| taints(live).any(|live| live == taint));
    (!is_as_wanted).then_some(merged)
}

/// The fields that Slipway applies to a node, without the marks.
pub(crate) fn body(live: &Json, desired: &Value) -> Json {
    let map = |name: &str| {
        desired.get(name).map(Value::to_json).filter(Json::is_object).unwrap_or_else(|| json!({}))
    };
    let mut annotations = map("annotations");
    let taints: Vec<String> = wanted_taints(desired).iter().map(name_of).collect();
    if !taints.is_empty() {
        annotations[TAINTS] = taints.join(",").into();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": text(live, "/metadata/name"),
            // Applying must never make a node.
            "uid": text(live, "/metadata/uid"),
            "labels": map("labels"),
            "annotations": annotations,
        },
    })
}

/// Plans a change of a node.
pub(crate) fn plan(item: &PlanItem) -> Result<Planned, ProviderError> {
    let Some(desired) = &item.desired else { return Ok(Planned::default()) };
    let mut normalised = desired.resolve(&mut |_| Value::Unknown);
    if desired.get("name").and_then(Value::as_str) == Some("") {
        return Err(invalid("a node has a name"));
    }
    if let Some(Value::List(taints)) = normalised.get("taints") {
        let taints: Vec<Value> = taints.iter().cloned().map(bare).collect();
        normalised.set(&Path::key("taints"), Value::List(taints));
    }
    Ok(Planned { normalised, ..Planned::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(taints: Json, known: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "Node", "spec": {"taints": taints, "providerID": "x:///a"},
            "metadata": {"name": "a", "uid": "u", "labels": {"role": "db", "kubernetes.io/os": "linux"},
                "annotations": {TAINTS: known},
                "managedFields": [{"manager": MANAGER, "operation": "Apply", "apiVersion": "v1",
                    "fieldsV1": {"f:metadata": {"f:labels": {"f:role": {}}, "f:annotations": {format!("f:{TAINTS}"): {}}}}}]}})
    }

    #[test]
    fn labels_and_taints_of_others_are_not_seen() {
        let node = live(
            json!([{"key": "dedicated", "value": "db", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]),
            "dedicated:NoSchedule",
        );
        let seen = attributes(&node);
        assert_eq!(seen.get("labels").unwrap(), &Value::map([("role", "db")]));
        let taint = Value::map([("key", "dedicated"), ("value", "db"), ("effect", "NoSchedule")]);
        assert_eq!(seen.get("taints").unwrap(), &Value::list([taint]));
        assert!(seen.get("annotations").is_none());
        assert_eq!(seen.get("provider_id").unwrap().as_str(), Some("x:///a"));
    }

    #[test]
    fn of_a_node_that_another_tool_has_marked_what_is_wanted_is_seen() {
        let taint = json!({"key": "dedicated", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"});
        let other = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let mut node = live(json!([taint, other]), "");
        let wanted = json!({"name": "a", "labels": {"role": "db", "more": ""},
            "taints": [{"key": "dedicated", "effect": "NoSchedule"}]});
        let wanted = Value::from_json(&wanted);
        assert!(seen(&node, &wanted).is_none(), "it is marked");
        node["metadata"]["managedFields"] = json!([]);
        let found = seen(&node, &wanted).unwrap();
        assert_eq!(found.get("labels").unwrap(), &Value::map([("role", "db")]));
        assert_eq!(found.get("taints"), wanted.get("taints"));
    }

    #[test]
    fn taints_are_merged_into_those_of_others() {
        let others = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let node = live(json!([others, {"key": "old", "effect": "NoSchedule"}]), "old:NoSchedule");
        let wanted = |key: &str| {
            Value::map([("taints", Value::list([Value::map([("key", key), ("effect", "NoSchedule")])]))])
        };
        let merged = merged_taints(&node, &wanted("new")).unwrap();
        assert_eq!(merged, [others.clone(), json!({"key": "new", "effect": "NoSchedule"})]);
        assert!(merged_taints(&node, &wanted("old")).is_none(), "as it is");
        assert_eq!(merged_taints(&node, &Value::map::<&str, Value>([])).unwrap(), [others]);
        assert_eq!(body(&node, &wanted("new"))["metadata"]["annotations"][TAINTS], "new:NoSchedule");
    }
}
