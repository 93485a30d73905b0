//! Faults on request.

use serde_json::{Value as Json, json};
use slipway_provider_sim::inspect::{Inventory, calls};
use slipway_resource::provider::{
    Action, DiscoverRequest, EventSink, PreflightItem, Resolution, ResumeRequest,
};
use slipway_resource::{Observation, Value};

use crate::harness::open;

fn object() -> Value {
    Value::from_json(&json!({"key": "k"}))
}

fn with(rule: Json) -> Json {
    json!({"faults": [rule]})
}

#[tokio::test]
async fn a_call_that_fails_before_has_no_effect_and_one_that_fails_after_has() {
    for (kind, objects) in [("fail-before", 0), ("fail-after", 1)] {
        let directory = tempfile::tempdir().unwrap();
        let rule = json!({"method": "create", "kind": kind, "nth": 1, "class": "outcome-unknown"});
        let harness = open(directory.path(), with(rule)).await;
        let request = harness.request("sim_object.a", Action::Create { desired: object() });
        let error = harness.apply(request.clone()).await.unwrap_err();
        assert_eq!(error.class.name(), "outcome-unknown");
        assert_eq!(Inventory::open(directory.path()).unwrap().objects.len(), objects);
        let resume =
            ResumeRequest { request: request.clone(), identity: None, handle: None, superseded: false };
        let found = harness.session.resume(resume, EventSink::discard()).await.unwrap();
        assert_eq!(matches!(found, Resolution::Done(_)), objects == 1);
        harness.apply(request).await.unwrap();
        assert_eq!(Inventory::open(directory.path()).unwrap().objects.len(), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_absent() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    harness.create("sim_object.a", object()).await.unwrap();
    harness.create("sim_object.b", object()).await.unwrap();
    let request =
        || DiscoverRequest { uid: Some(harness.uid.clone()), cluster: "demo".into(), types: Vec::new() };
    let rules = directory.path().join("faults.json");
    std::fs::write(&rules, r#"[{"kind": "unreadable", "address": "b"}]"#).unwrap();
    let found = harness.session.discover(request()).await.unwrap().observed;
    assert!(matches!(found[0].observation, Observation::Present(_)));
    assert!(matches!(found[1].observation, Observation::Unreadable(_)));
    std::fs::write(&rules, r#"[{"kind": "unreadable", "type": "sim_object", "method": "discover"}]"#)
        .unwrap();
    let discovery = harness.session.discover(request()).await.unwrap();
    assert!(discovery.observed.is_empty());
    assert_eq!(discovery.unlisted[0].kind, "sim_object");
    std::fs::remove_file(rules).unwrap();
    assert_eq!(harness.session.discover(request()).await.unwrap().observed.len(), 2);
}

#[tokio::test]
async fn delayed_reads_show_what_was() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({"readDelayMs": 1000})).await;
    let id = harness.create("sim_object.a", object()).await.unwrap().identity.unwrap();
    assert!(harness.observe().await.is_empty(), "not yet");
    while harness.observe().await.is_empty() {}
    harness.delete("sim_object.a", id.as_str()).await.unwrap();
    assert_eq!(harness.observe().await.len(), 1, "still");
    while !harness.observe().await.is_empty() {}
    assert!(Inventory::open(directory.path()).unwrap().objects.is_empty());
}

#[tokio::test]
async fn preflight_finds_everything_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(
        directory.path(),
        json!({"quotas": {"sim_address": 1}, "zones": ["a"],
               "faults": [{"kind": "permission", "method": "create", "type": "sim_volume"}]}),
    )
    .await;
    let taken = Value::from_json(&json!({"name": "x", "public_key": "k"}));
    harness.create("sim_key_pair.other", taken.clone()).await.unwrap();
    let item = |address: &str, desired| PreflightItem {
        address: address.parse().unwrap(),
        action: "create".into(),
        desired,
    };
    let empty = || Value::from_json(&json!({}));
    let volume = Value::from_json(&json!({"name": "v", "zone": "z", "size_gib": 1}));
    let items = vec![
        item("sim_address.a", empty()),
        item("sim_address.b", empty()),
        item("sim_key_pair.ssh", taken),
        item("sim_volume.v", volume),
    ];
    let findings = harness.session.preflight(items).await.unwrap();
    let found: Vec<String> = findings
        .iter()
        .map(|finding| format!("{} {}", finding.address.as_ref().unwrap(), finding.class))
        .collect();
    assert_eq!(
        found,
        [
            "sim_address.b quota",
            "sim_key_pair.ssh conflict",
            "sim_volume.v permission",
            "sim_volume.v invalid"
        ]
    );
    let quota = "the account may have 1 of sim_address; it has 0, and the plan makes 1 before this one";
    assert_eq!(findings[0].message, quota);
}

#[tokio::test]
async fn calls_are_recorded_and_looking_at_nothing_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let cloud = directory.path().join("cloud");
    let harness = open(&cloud, json!({})).await;
    harness.observe().await;
    assert!(!cloud.exists());
    for index in 0..5 {
        harness.create(&format!("sim_object.{index}"), object()).await.unwrap();
    }
    let before = calls(&cloud).unwrap();
    assert_eq!(before.iter().filter(|call| call.method == "create").count(), 5);
    harness.observe().await;
    let lists = calls(&cloud).unwrap().len() - before.len();
    assert!(lists < 40, "one for each type, not for each object: {lists}");
}

#[tokio::test]
async fn a_running_action_stops_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({"timeScale": 1.0})).await;
    let desired = Value::from_json(&json!({"key": "k", "sleep_ms": 3_600_000}));
    let request = harness.request("sim_object.a", Action::Create { desired });
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        harness.session.cancel(None).await.unwrap();
    };
    let (result, ()) = tokio::join!(harness.apply(request), stop);
    let error = result.unwrap_err();
    assert_eq!(error.class.name(), "cancelled");
    assert!(error.identity.is_some(), "it exists all the same");
}
