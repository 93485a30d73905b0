use serde_json::json;

use super::*;

fn object(api_version: &str, kind: &str, spec: Json, status: Json) -> Json {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "generation": 2}, "spec": spec, "status": status})
}

fn told(readiness: Readiness) -> String {
    match readiness {
        Readiness::Ready => "ready".to_owned(),
        Readiness::InProgress(text) => format!("in progress: {text}"),
        Readiness::Failed(text) => format!("failed: {text}"),
        Readiness::Terminating(text) => format!("terminating: {text}"),
    }
}

fn assessed(api_version: &str, kind: &str, spec: Json, status: Json) -> String {
    told(assess(&object(api_version, kind, spec, status)))
}

#[test]
fn an_older_generation_is_not_ready() {
    let status = json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]});
    assert_eq!(
        assessed("x.example/v1", "Any", json!({}), status),
        "in progress: its controller has not seen the change yet"
    );
}

#[test]
fn a_deployment_is_ready_when_all_replicas_are_new_and_available() {
    let of = |status: Json| assessed("apps/v1", "Deployment", json!({"replicas": 2}), status);
    let with = |total: i64, updated: i64, ready: i64, available: i64| {
        of(json!({"observedGeneration": 2, "replicas": total, "updatedReplicas": updated,
            "readyReplicas": ready, "availableReplicas": available}))
    };
    assert_eq!(of(json!({})), "in progress: its controller has not seen it yet");
    assert_eq!(with(2, 1, 2, 2), "in progress: 1 of 2 replicas are as the template wants them");
    assert_eq!(with(3, 2, 2, 2), "in progress: 1 older replicas are still there");
    assert_eq!(with(2, 2, 1, 1), "in progress: 1 of 2 replicas are ready");
    assert_eq!(with(2, 2, 2, 1), "in progress: 1 of 2 replicas are available");
    assert_eq!(with(2, 2, 2, 2), "ready");
    let stuck = json!({"observedGeneration": 2, "replicas": 2, "conditions": [{"type": "Progressing", "status": "False",
        "reason": "ProgressDeadlineExceeded", "message": "has timed out progressing"}]});
    assert_eq!(of(stuck), "failed: ProgressDeadlineExceeded: has timed out progressing");
    assert_eq!(
        assessed("apps/v1", "Deployment", json!({"replicas": 0}), json!({"observedGeneration": 2})),
        "ready"
    );
}

#[test]
fn a_stateful_set_rolls_down_to_its_partition() {
    let status = |updated: i64, revision: &str| {
        json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": updated,
            "currentRevision": "a-1", "updateRevision": revision})
    };
    let of = |spec: Json, status: Json| assessed("apps/v1", "StatefulSet", spec, status);
    assert_eq!(of(json!({"replicas": 3}), status(1, "a-2")), "in progress: 1 of 3 replicas are updated");
    assert_eq!(of(json!({"replicas": 3}), status(3, "a-1")), "ready");
    assert_eq!(of(json!({"replicas": 4}), status(3, "a-1")), "in progress: 3 of 4 replicas exist");
    assert_eq!(
        of(json!({"replicas": 2}), status(3, "a-1")),
        "in progress: 1 replicas too many are still there"
    );
    let partitioned = |partition: i64| json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}});
    assert_eq!(of(partitioned(2), status(1, "a-2")), "ready");
    assert_eq!(
        of(partitioned(1), status(1, "a-2")),
        "in progress: 1 of 2 replicas beyond the partition are updated"
    );
    let on_delete = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
    assert_eq!(of(on_delete, status(0, "a-2")), "ready");
}

#[test]
fn a_daemon_set_is_ready_when_every_node_has_its_pod() {
    let of = |status: Json| assessed("apps/v1", "DaemonSet", json!({}), status);
    let with = |scheduled: i64, updated: i64, available: i64| {
        of(json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "currentNumberScheduled": scheduled,
            "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": available}))
    };
    assert_eq!(of(json!({})), "in progress: its controller has not seen it yet");
    assert_eq!(with(2, 0, 0), "in progress: 2 of 3 nodes have its pod");
    assert_eq!(with(3, 1, 0), "in progress: 1 of 3 pods are as the template wants them");
    assert_eq!(with(3, 3, 2), "in progress: 2 of 3 pods are available");
    assert_eq!(with(3, 3, 3), "ready");
    assert_eq!(of(json!({"observedGeneration": 2, "desiredNumberScheduled": 0})), "ready");
}

#[test]
fn a_replica_set_says_why_it_cannot() {
    let failing = json!({"observedGeneration": 2, "conditions": [{"type": "ReplicaFailure", "status": "True",
        "reason": "FailedCreate", "message": "exceeded quota"}]});
    assert_eq!(
        assessed("apps/v1", "ReplicaSet", json!({}), failing),
        "in progress: FailedCreate: exceeded quota"
    );
    let full = json!({"observedGeneration": 2, "replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1});
    assert_eq!(assessed("apps/v1", "ReplicaSet", json!({"replicas": 1}), full.clone()), "ready");
    assert_eq!(
        assessed("apps/v1", "ReplicaSet", json!({"replicas": 0}), full),
        "in progress: 1 replicas too many are still there"
    );
}

#[test]
fn a_job_is_ready_once_it_runs() {
    let of = |status: Json| assessed("batch/v1", "Job", json!({}), status);
    assert_eq!(of(json!({})), "in progress: it has not begun yet");
    assert_eq!(of(json!({"startTime": "2026-01-01T00:00:00Z"})), "ready");
    assert_eq!(of(json!({"conditions": [{"type": "Complete", "status": "True"}]})), "ready");
    let failed =
        json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]});
    assert_eq!(of(failed), "failed: Failed is True: BackoffLimitExceeded");
}

#[test]
fn pods_claims_volumes_namespaces() {
    let pod = |status: Json| assessed("v1", "Pod", json!({}), status);
    assert_eq!(pod(json!({"phase": "Pending"})), "in progress: it does not run yet");
    let unschedulable = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes"}]});
    assert_eq!(pod(unschedulable), "in progress: Unschedulable: 0/1 nodes");
    assert_eq!(
        pod(json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})),
        "ready"
    );
    assert_eq!(pod(json!({"phase": "Succeeded"})), "ready");
    assert_eq!(pod(json!({"phase": "Failed", "reason": "Evicted"})), "failed: Evicted");
    let claim = |phase: &str| assessed("v1", "PersistentVolumeClaim", json!({}), json!({"phase": phase}));
    assert_eq!(
        (claim("Pending").as_str(), claim("Bound").as_str()),
        ("in progress: its phase is Pending", "ready")
    );
    assert_eq!(claim("Lost"), "failed: its volume is lost");
    assert_eq!(assessed("v1", "PersistentVolume", json!({}), json!({"phase": "Available"})), "ready");
    assert_eq!(
        assessed("v1", "PersistentVolume", json!({}), json!({"phase": "Failed"})),
        "failed: its phase is Failed"
    );
    assert_eq!(assessed("v1", "Namespace", json!({}), json!({"phase": "Active"})), "ready");
    assert_eq!(assessed("v1", "Namespace", json!({}), json!({})), "in progress: its phase is unknown");
}

#[test]
fn a_load_balancer_has_to_have_an_address() {
    let of = |kind: &str, status: Json| assessed("v1", "Service", json!({"type": kind}), status);
    assert_eq!(of("ClusterIP", json!({})), "ready");
    assert_eq!(of("LoadBalancer", json!({"loadBalancer": {}})), "in progress: it has no load balancer yet");
    assert_eq!(of("LoadBalancer", json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})), "ready");
}

#[test]
fn an_api_has_to_be_served() {
    let definition = |conditions: Json| {
        assessed(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({}),
            json!({"conditions": conditions}),
        )
    };
    assert_eq!(definition(json!([])), "in progress: it is not served yet");
    assert_eq!(
        definition(json!([{"type": "Established", "status": "False", "reason": "Installing"}])),
        "in progress: it is not served yet"
    );
    assert_eq!(definition(json!([{"type": "Established", "status": "True"}])), "ready");
    let taken = json!([{"type": "NamesAccepted", "status": "False", "reason": "ListKindConflict", "message": "is in use"}]);
    assert_eq!(definition(taken), "failed: ListKindConflict: is in use");
    let service = |conditions: Json| {
        assessed("apiregistration.k8s.io/v1", "APIService", json!({}), json!({"conditions": conditions}))
    };
    assert_eq!(service(json!([])), "in progress: it does not say Available yet");
    assert_eq!(service(json!([{"type": "Available", "status": "True"}])), "ready");
}

#[test]
fn kinds_without_rules_follow_the_conventional_conditions() {
    let of = |conditions: Json| assessed("x.example/v1", "Any", json!({}), json!({"conditions": conditions}));
    assert_eq!(of(json!([])), "ready");
    assert_eq!(of(json!([{"type": "Ready", "status": "Unknown"}])), "in progress: Ready is Unknown");
    assert_eq!(of(json!([{"type": "Ready", "status": "True"}])), "ready");
    assert_eq!(
        of(json!([{"type": "Reconciling", "status": "True", "message": "at it"}])),
        "in progress: at it"
    );
    assert_eq!(
        of(json!([{"type": "Stalled", "status": "True", "reason": "Bad"}])),
        "failed: Stalled is True: Bad"
    );
    assert_eq!(
        told(assess(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))),
        "ready"
    );
    for (api_version, kind) in [("policy/v1", "PodDisruptionBudget"), ("batch/v1", "CronJob")] {
        assert_eq!(
            assessed(
                api_version,
                kind,
                json!({}),
                json!({"conditions": [{"type": "Ready", "status": "False"}]})
            ),
            "ready"
        );
    }
}

#[test]
fn what_goes_says_what_holds_it() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating", "conditions": [
            {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "message": "widgets has 1"},
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "reason": "ResourcesDiscovered"}]}});
    assert_eq!(
        told(assess(&namespace)),
        "terminating: finalizer kubernetes; SomeResourcesRemain: widgets has 1"
    );
}
