//! The cloud's files: several processes, torn lines, compaction.

use std::io::Write;

use serde_json::json;
use slipway_provider_sim::inspect::Inventory;
use slipway_resource::Value;
use slipway_resource::provider::WrapKeyRequest;

use crate::harness::open;

fn object(links: &[&str]) -> Value {
    Value::from_json(&json!({"key": "k", "links": links}))
}

#[tokio::test]
async fn a_log_cut_at_any_byte_is_the_cloud_before_the_cut_line() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    for name in ["a", "b", "c"] {
        harness.create(&format!("sim_object.{name}"), object(&[])).await.unwrap();
    }
    let log = std::fs::read(directory.path().join("events.jsonl")).unwrap();
    for length in 0..=log.len() {
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("events.jsonl"), &log[..length]).unwrap();
        let whole = log[..length].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(Inventory::open(other.path()).unwrap().objects.len(), whole);
        if length % 97 == 0 {
            let harness = open(other.path(), json!({})).await;
            harness.create("sim_object.d", object(&[])).await.unwrap();
            let inventory = Inventory::open(other.path()).unwrap();
            assert_eq!(inventory.objects.len(), whole + 1, "the torn end is cut off");
        }
    }
}

#[tokio::test]
async fn two_sessions_see_each_other_and_never_give_an_id_twice() {
    let directory = tempfile::tempdir().unwrap();
    let left = open(directory.path(), json!({})).await;
    let right = open(directory.path(), json!({})).await;
    let work = |harness, side: &'static str| async move {
        let harness: &crate::harness::Harness = harness;
        let mut previous: Option<String> = None;
        for index in 0..50 {
            let links: Vec<&str> = previous.iter().map(String::as_str).collect();
            let applied =
                harness.create(&format!("sim_object.{side}-{index}"), object(&links)).await.unwrap();
            previous = Some(applied.identity.unwrap().as_str().to_owned());
        }
    };
    tokio::join!(work(&left, "left"), work(&right, "right"));
    assert_eq!(left.observe().await, right.observe().await);
    assert_eq!(left.observe().await.len(), 100);
}

#[test]
fn processes_that_are_killed_leave_a_whole_cloud() {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let spawn = || {
        std::process::Command::new(&program)
            .args(["files::worker", "--exact", "--ignored", "--nocapture"])
            .env("SIM_DIRECTORY", directory.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    for round in 0..6u64 {
        let mut workers = [spawn(), spawn()];
        std::thread::sleep(std::time::Duration::from_millis(60 + round * 17));
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        let inventory = Inventory::open(directory.path()).unwrap();
        assert!(inventory.doubled().is_empty());
    }
    assert!(!Inventory::open(directory.path()).unwrap().objects.is_empty());
}

/// Not a test by itself: a process that creates objects until it is killed.
#[tokio::test]
#[ignore = "run by another test"]
async fn worker() {
    let Ok(directory) = std::env::var("SIM_DIRECTORY") else { return };
    let harness = open(directory.as_ref(), json!({})).await;
    for index in 0..100_000 {
        let name = format!("sim_object.{}-{index}", std::process::id());
        harness.create(&name, object(&[])).await.unwrap();
    }
}

#[tokio::test]
async fn a_log_that_has_grown_is_made_anew_under_everybody() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let other = open(directory.path(), json!({})).await;
    other.observe().await;
    let text = "x".repeat(400_000);
    let created = harness.create("sim_object.a", object(&[])).await.unwrap();
    let identity = created.identity.unwrap();
    for index in 0..60 {
        let desired = Value::from_json(&json!({"key": "k", "text": format!("{index}{text}")}));
        let action = slipway_resource::provider::Action::Update {
            identity: identity.clone(),
            prior: Value::Null,
            desired,
        };
        harness.apply(harness.request("sim_object.a", action)).await.unwrap();
    }
    let size = std::fs::metadata(directory.path().join("events.jsonl")).unwrap().len();
    assert!(size < 17 << 20, "{size} bytes");
    assert_eq!(other.observe().await, harness.observe().await);
    assert_eq!(Inventory::open(directory.path()).unwrap().objects.len(), 1);
    // An incomplete line of a killed writer has no effect.
    let path = directory.path().join("events.jsonl");
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"at\":").unwrap();
    other.create("sim_object.b", object(&[])).await.unwrap();
    assert_eq!(harness.observe().await.len(), 2);
}

/// The folder may come with a checkout of another person.
#[tokio::test]
async fn a_key_is_a_regular_file() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let wrap = |name: &str| WrapKeyRequest {
        key: format!("key/{name}"),
        scope: "scope".to_owned(),
        plain: b"plain".to_vec().into(),
    };
    harness.session.wrap_key(wrap("good")).await.unwrap();
    let keys = directory.path().join("key");
    std::os::unix::fs::symlink("/dev/zero", keys.join("device")).unwrap();
    std::os::unix::fs::symlink(keys.join("good"), keys.join("link")).unwrap();
    for name in ["device", "link"] {
        let error = harness.session.wrap_key(wrap(name)).await.unwrap_err();
        assert!(error.message.contains("it is a symbolic link"), "{name}: {}", error.message);
    }
    harness.session.wrap_key(wrap("good")).await.unwrap();
}
