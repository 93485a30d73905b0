//! Cases of `TestNeedsUpdate` and `TestNeedsCleanup` of `k8s.io/cloud-provider`.

use serde_json::{Value as Json, json};

use super::*;

fn service(patch: &Json) -> Service {
    let mut service = json!({
        "metadata": {"name": "web", "uid": "1", "annotations": {"a": "b"}},
        "spec": {
            "type": "LoadBalancer", "sessionAffinity": "None", "externalTrafficPolicy": "Cluster",
            "loadBalancerSourceRanges": ["10.0.0.0/8"], "externalIPs": ["192.0.2.1"], "ipFamilies": ["IPv4"],
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 20, "nodePort": 30000}],
        },
    });
    for part in ["metadata", "spec"] {
        for (key, value) in patch[part].as_object().into_iter().flatten() {
            service[part][key] = value.clone();
        }
    }
    serde_json::from_value(service).unwrap()
}

fn from_base(patch: &Json) -> Option<Difference> {
    difference(&service(&json!({})), &service(patch))
}

fn port(change: &Json) -> Json {
    let mut port =
        json!({"name": "http", "port": 80, "protocol": "TCP", "targetPort": 20, "nodePort": 30000});
    for (key, value) in change.as_object().unwrap() {
        port[key] = value.clone();
    }
    json!({"spec": {"ports": [port]}})
}

#[test]
fn changes_that_concern_the_load_balancer_are_found() {
    let silent = [
        port(&json!({"port": 81})),
        port(&json!({"name": "https"})),
        port(&json!({"protocol": "UDP"})),
        port(&json!({"nodePort": 30001})),
        port(&json!({"targetPort": 21})),
        port(&json!({"targetPort": "named"})),
        port(&json!({"appProtocol": "kubernetes.io/ws"})),
        json!({"spec": {"ports": []}}),
        json!({"spec": {"sessionAffinity": "ClientIP"}}),
        json!({"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}}}}),
        json!({"metadata": {"annotations": {"a": "c"}}}),
    ];
    for patch in silent {
        assert_eq!(from_base(&patch), Some(Difference::Silent), "{patch}");
    }
    let told = [
        (json!({"spec": {"type": "ClusterIP"}}), "Type", "LoadBalancer -> ClusterIP"),
        (
            json!({"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8", "192.0.2.0/24"]}}),
            "LoadBalancerSourceRanges",
            "[10.0.0.0/8] -> [10.0.0.0/8 192.0.2.0/24]",
        ),
        (json!({"spec": {"loadBalancerIP": "192.0.2.9"}}), "LoadbalancerIP", " -> 192.0.2.9"),
        (json!({"spec": {"externalIPs": ["192.0.2.1", "192.0.2.2"]}}), "ExternalIP", "Count: 1 -> 2"),
        (json!({"spec": {"externalIPs": ["192.0.2.2"]}}), "ExternalIP", "Added: 192.0.2.2"),
        (json!({"metadata": {"uid": "2"}}), "UID", "1 -> 2"),
        (json!({"spec": {"externalTrafficPolicy": "Local"}}), "ExternalTrafficPolicy", "Cluster -> Local"),
        (json!({"spec": {"healthCheckNodePort": 30001}}), "HealthCheckNodePort", "0 -> 30001"),
        (json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}}), "IPFamilies", "Count: 1 -> 2"),
    ];
    for (patch, reason, note) in told {
        assert_eq!(from_base(&patch), Some(Difference::Told { reason, note: note.to_owned() }), "{patch}");
    }
}

#[test]
fn other_changes_are_none() {
    let none = [
        json!({}),
        json!({"metadata": {"labels": {"a": "b"}, "resourceVersion": "7"}}),
        json!({"spec": {"selector": {"app": "web"}}}),
        json!({"spec": {"clusterIP": "10.96.0.7"}}),
    ];
    for patch in none {
        assert_eq!(from_base(&patch), None, "{patch}");
    }
    let plain = |port| service(&json!({"spec": {"type": "ClusterIP", "ports": [{"port": port}]}}));
    assert_eq!(difference(&plain(80), &plain(81)), None);
}

#[test]
fn a_service_of_a_class_is_left_alone() {
    let classed = service(&json!({
        "metadata": {"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"loadBalancerClass": "example.com/other"},
    }));
    assert!(!wants_balancer(&classed));
    assert!(!needs_cleanup(&classed));
}

#[test]
fn the_finalizer_goes_with_the_service_or_its_type() {
    let with = |metadata: Json, kind: &str| service(&json!({"metadata": metadata, "spec": {"type": kind}}));
    let ours = json!({"finalizers": ["example.com/other", FINALIZER]});
    let ending = json!({"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let other = json!({"finalizers": ["example.com/other"], "deletionTimestamp": "2026-01-01T00:00:00Z"});
    assert!(!needs_cleanup(&with(ours.clone(), "LoadBalancer")));
    assert!(needs_cleanup(&with(ours, "ClusterIP")));
    assert!(needs_cleanup(&with(ending, "LoadBalancer")));
    assert!(!needs_cleanup(&with(other, "LoadBalancer")));
}
