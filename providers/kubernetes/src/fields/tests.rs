use serde_json::json;

use super::*;

fn set(json: Json) -> FieldSet {
    FieldSet::from_json(&json).unwrap()
}

fn live() -> Json {
    json!({
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {"app": "web", "other": "x"}, "finalizers": ["a.example/x", "b.example/y"]},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {
                "containers": [
                    {"name": "proxy", "image": "proxy:1"},
                    {"name": "web", "image": "web:1", "imagePullPolicy": "IfNotPresent", "args": ["a", "b"],
                        "ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
                ],
                "tolerations": [{"key": "a"}, {"key": "b"}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            }},
        },
    })
}

#[test]
fn a_projection_has_the_fields_of_the_set_and_no_other() {
    let owned = set(json!({
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {"v:\"b.example/y\"": {}}},
        "f:spec": {
            "f:selector": {},
            "f:template": {"f:spec": {
                "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {},
                    "f:ports": {"k:{\"containerPort\":53,\"protocol\":\"UDP\"}": {".": {}, "f:containerPort": {}}}}},
                "f:tolerations": {"i:1": {}},
                "f:volumes": {"k:{\"name\":\"v\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}},
            }},
        },
    }));
    assert_eq!(
        owned.project(&live()),
        json!({
            "metadata": {"labels": {"app": "web"}, "finalizers": ["b.example/y"]},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {
                    "containers": [{"name": "web", "image": "web:1", "args": ["a", "b"], "ports": [{"containerPort": 53}]}],
                    "tolerations": [{"key": "b"}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                }},
            },
        })
    );
}

#[test]
fn what_is_gone_from_the_object_is_gone_from_the_projection() {
    let owned = set(json!({"f:spec": {"f:paused": {}, "f:replicas": {}, "f:strategy": {"f:type": {}}}}));
    assert_eq!(owned.project(&live()), json!({"spec": {"replicas": 3}}));
    let other_shape = set(json!({"f:spec": {"f:replicas": {"f:a": {}}}}));
    assert_eq!(other_shape.project(&live()), json!({"spec": {}}));
    assert_eq!(FieldSet::default().project(&json!({})), json!({}));
}

#[test]
fn the_entry_of_a_manager_that_applies_is_found() {
    let object = json!({"metadata": {"managedFields": [
        {"manager": "slipway", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:a": {}}},
        {"manager": "slipway", "operation": "Apply", "apiVersion": "v1", "subresource": "status", "fieldsV1": {"f:b": {}}},
        {"manager": "slipway", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "kubectl-edit", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:paused": {}}}},
        {"manager": "flux", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
    ]}});
    let applied = applied_by(&object, "slipway").unwrap();
    assert_eq!(applied.api_version, "apps/v1");
    assert_eq!(applied.fields, set(json!({"f:spec": {"f:replicas": {}}})));
    assert!(applied_by(&object, "argo").is_none());
    let flux = Writer { manager: "flux".to_owned(), applies: true };
    assert_eq!(writers_of(&object, &applied.fields, "slipway"), [flux]);
}

#[test]
fn the_last_time_of_a_manager_is_found() {
    let object = json!({"metadata": {"managedFields": [
        {"manager": "kubectl", "operation": "Update", "time": "2026-11-02T08:00:00Z"},
        {"manager": "kubectl", "operation": "Apply", "time": "2026-10-30T23:59:59Z"},
        {"manager": "flux", "operation": "Apply"},
    ]}});
    assert_eq!(written_at(&object, "kubectl"), Some("2026-11-02T08:00:00Z"));
    assert_eq!(written_at(&object, "flux"), None);
}

#[test]
fn a_union_has_both_and_parts_count_before_the_whole() {
    let left = set(json!({"f:a": {}, "f:b": {"f:c": {}}, "f:d": {}}));
    let right = set(json!({"f:b": {"f:e": {}}, "f:d": {"f:x": {}}}));
    assert_eq!(
        left.union(&right),
        set(json!({"f:a": {}, "f:b": {"f:c": {}, "f:e": {}}, "f:d": {"f:x": {}}}))
    );
    assert!(left.meets(&right) && !left.meets(&set(json!({"f:z": {}, "f:b": {"f:z": {}}}))));
    assert!(set(json!({"f:b": {}})).meets(&left), "the whole of b holds b.c");
}
