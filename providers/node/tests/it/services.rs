//! Services without an init system: kept running, restarted for a reason only, never there twice.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use slipway_resource::{Observation, Value};

use super::bench::{Bench, value};

/// Waits for an event within seconds.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} does not come");
}

/// A service that notes each of its starts, and ends with its root.
fn service(bench: &Bench, level: &str) -> Value {
    let root = bench.root.display();
    let script = format!("echo $$ $LEVEL >>{root}/starts; while [ -d {root} ]; do sleep 0.2; done");
    value(json!({
        "name": "example",
        "command": ["/bin/sh", "-c", script],
        "environment": {"LEVEL": level},
        "ready_path": "/starts",
    }))
}

fn starts(bench: &Bench) -> Vec<(i32, String)> {
    let text = std::fs::read_to_string(bench.root.join("starts")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let (pid, level) = line.split_once(' ')?;
            Some((pid.parse().ok()?, level.to_owned()))
        })
        .collect()
}

fn lives(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kill(pid: i32) {
    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

fn watch(bench: &Bench) -> i32 {
    bench.text("/var/lib/slipway/services/example/pid").trim().parse().unwrap()
}

#[tokio::test]
async fn it_is_kept_running_until_it_is_deleted() {
    let bench = Bench::new().await;
    let wanted = service(&bench, "1");
    bench.create("service.example", wanted.clone()).await.unwrap();
    let first = until("the first start", || starts(&bench).first().cloned()).await;
    let found = bench.attributes("service.example", "example").await;
    assert_eq!(found.get("pid"), Some(&Value::Integer(first.0.into())));
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);

    kill(first.0);
    let second = until("the second start", || starts(&bench).get(1).cloned()).await;
    assert_ne!(first.0, second.0);
    assert!(bench.text("/var/log/slipway/example.log").contains("ended with status 137"));

    bench.delete("service.example", "example").await.unwrap();
    assert!(!lives(second.0));
    assert_eq!(bench.read("service.example", "example").await, Observation::Absent);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(starts(&bench).len(), 2);
}

#[tokio::test]
async fn it_is_restarted_for_a_reason_only() {
    let bench = Bench::new().await;
    bench.create("service.example", service(&bench, "1")).await.unwrap();
    until("the first start", || starts(&bench).first().cloned()).await;
    bench.update("service.example", "example", service(&bench, "1")).await.unwrap();
    assert_eq!(starts(&bench).len(), 1);
    bench.update("service.example", "example", service(&bench, "2")).await.unwrap();
    let second = until("the second start", || starts(&bench).get(1).cloned()).await;
    assert_eq!(second.1, "2");
    assert!(!lives(starts(&bench)[0].0));
    let mut triggered = service(&bench, "2");
    triggered.set(&slipway_resource::Path::key("restart_triggers"), value(json!({"settings": "digest"})));
    bench.update("service.example", "example", triggered).await.unwrap();
    until("the third start", || starts(&bench).get(2).cloned()).await;
    let mut stopped = service(&bench, "2");
    stopped.set(&slipway_resource::Path::key("running"), false.into());
    bench.update("service.example", "example", stopped.clone()).await.unwrap();
    assert!(starts(&bench).iter().all(|(pid, _)| !lives(*pid)));
    assert_eq!(bench.changes("service.example", "example", &stopped).await, [""; 0]);
    bench.delete("service.example", "example").await.unwrap();
}

#[tokio::test]
async fn a_dead_watch_shows_and_leaves_no_second_program() {
    let bench = Bench::new().await;
    let wanted = service(&bench, "1");
    bench.create("service.example", wanted.clone()).await.unwrap();
    let first = until("the first start", || starts(&bench).first().cloned()).await;
    kill(watch(&bench));
    until("the end of the watch", || (!lives(watch(&bench))).then_some(())).await;
    assert!(lives(first.0), "the program outlives its watch");
    assert_eq!(bench.changes("service.example", "example", &wanted).await, ["running: false -> true"]);
    bench.update("service.example", "example", wanted).await.unwrap();
    until("the second start", || starts(&bench).get(1).cloned()).await;
    assert!(!lives(first.0), "and not the next start");
    kill(watch(&bench));
    until("the end of the watch", || (!lives(watch(&bench))).then_some(())).await;
    bench.delete("service.example", "example").await.unwrap();
    assert!(!lives(starts(&bench)[1].0), "nor a delete");
}

#[tokio::test]
async fn the_number_of_a_process_proves_nothing() {
    let bench = Bench::new().await;
    bench.create("service.example", service(&bench, "1")).await.unwrap();
    until("the first start", || starts(&bench).first().cloned()).await;
    kill(watch(&bench));
    until("the end of the watch", || (!lives(watch(&bench))).then_some(())).await;
    // As after a restart of the machine: another process has the number now.
    let mut foreign = std::process::Command::new("sleep");
    let mut foreign = foreign.arg("60").process_group(0).spawn().unwrap();
    let number = i32::try_from(foreign.id()).unwrap();
    bench.put("/var/lib/slipway/services/example/pid", &number.to_string());
    bench.delete("service.example", "example").await.unwrap();
    let spared = foreign.try_wait().unwrap().is_none();
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    assert!(spared);
    kill(starts(&bench)[0].0);
}

#[tokio::test]
async fn readiness_is_waited_for_and_its_lack_is_told() {
    let bench = Bench::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut wanted = service(&bench, "1");
    wanted.set(&slipway_resource::Path::key("ready_url"), format!("http://127.0.0.1:{port}/healthz").into());
    wanted.set(&slipway_resource::Path::key("ready_timeout_seconds"), Value::Integer(1));
    let error = bench.create("service.example", wanted).await.unwrap_err();
    assert!(error.message.contains("was not ready within") && error.message.contains("refused"), "{error}");
    assert!(error.identity.is_some(), "the object that is left is named");
    bench.delete("service.example", "example").await.unwrap();
    assert!(Path::new("/proc").exists() && starts(&bench).iter().all(|(pid, _)| !lives(*pid)));
}

const SETTINGS: &str = "/etc/settings";
const GOOD: &str = "level: 1\n";
const BAD: &str = "level: 9\n";

/// A service that records its settings at each start, and keeps them until the next start.
fn reader(bench: &Bench, digest: &Value) -> Value {
    let (root, settings) = (bench.root.display(), bench.path(SETTINGS));
    let script = format!(
        "echo $$ $(cat {}) >>{root}/starts; while [ -d {root} ]; do sleep 0.2; done",
        settings.display()
    );
    let mut wanted = value(json!({
        "name": "example",
        "command": ["/bin/sh", "-c", script],
        "ready_path": "/starts",
    }));
    wanted.set(&slipway_resource::Path::key("restart_triggers"), Value::map([(SETTINGS, digest.clone())]));
    wanted
}

/// The kernel notes the start of a process in hundredths of a second.
async fn beyond_a_tick() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Settings, and a service that has read them.
async fn reading(bench: &Bench) -> (Value, Value) {
    let file = value(json!({"path": SETTINGS, "content": GOOD}));
    let made = bench.create("file.settings", file.clone()).await.unwrap().attributes;
    let wanted = reader(bench, made.get("sha256").unwrap());
    bench.create("service.example", wanted.clone()).await.unwrap();
    until("the first start", || starts(bench).first().cloned()).await;
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    (file, wanted)
}

#[tokio::test]
async fn what_runs_with_another_content_than_is_wanted_is_started_anew() {
    let bench = Bench::new().await;
    let (file, wanted) = reading(&bench).await;
    // The settings are changed by hand, and the program restarts for another reason.
    bench.put(SETTINGS, BAD);
    kill(starts(&bench)[0].0);
    until("the second start", || starts(&bench).get(1).cloned()).await;
    let stale = ["current: false -> true"];
    assert_eq!(bench.changes("service.example", "example", &wanted).await, stale);
    let reasons = bench.reasons("service.example", "example", &wanted).await;
    assert!(reasons.iter().any(|reason| reason.contains("is restarted")), "{reasons:?}");
    beyond_a_tick().await;
    // After the settings were corrected, the program still runs with the changed ones.
    bench.update("file.settings", SETTINGS, file).await.unwrap();
    assert_eq!(bench.changes("service.example", "example", &wanted).await, stale);
    bench.update("service.example", "example", wanted.clone()).await.unwrap();
    let third = until("the third start", || starts(&bench).get(2).cloned()).await;
    assert_eq!(third.1, "level: 1");
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    bench.delete("service.example", "example").await.unwrap();
}

#[tokio::test]
async fn what_has_read_the_right_content_goes_on() {
    let bench = Bench::new().await;
    let (file, wanted) = reading(&bench).await;
    // The program was not restarted since, so it has not read the changed settings.
    bench.put(SETTINGS, BAD);
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    bench.update("file.settings", SETTINGS, file).await.unwrap();
    bench.update("service.example", "example", wanted.clone()).await.unwrap();
    assert_eq!(starts(&bench).len(), 1);
    // A program that restarts by itself reads the present settings.
    kill(starts(&bench)[0].0);
    until("the second start", || starts(&bench).get(1).cloned()).await;
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    // A later change: the program may have read other settings at its start.
    beyond_a_tick().await;
    bench.put(SETTINGS, GOOD);
    assert_eq!(bench.changes("service.example", "example", &wanted).await, ["current: false -> true"]);
    bench.update("service.example", "example", wanted.clone()).await.unwrap();
    until("the third start", || starts(&bench).get(2).cloned()).await;
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    bench.delete("service.example", "example").await.unwrap();
}

#[tokio::test]
async fn a_program_whose_process_is_not_noted_yet_is_waited_for() {
    let bench = Bench::new().await;
    let (file, wanted) = reading(&bench).await;
    bench.put(SETTINGS, BAD);
    bench.update("file.settings", SETTINGS, file).await.unwrap();
    kill(starts(&bench)[0].0);
    until("the second start", || starts(&bench).get(1).cloned()).await;
    // The watch starts a program first, and notes its process then: here it takes longer than usual.
    let noted = bench.path("/var/lib/slipway/services/example/child");
    let process = until("the note", || std::fs::read_to_string(&noted).ok()).await;
    std::fs::remove_file(&noted).unwrap();
    let late = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        std::fs::write(&noted, process).unwrap();
    });
    assert_eq!(bench.changes("service.example", "example", &wanted).await, [""; 0]);
    late.await.unwrap();
    bench.delete("service.example", "example").await.unwrap();
}

/// Answers every request with 200, as long as the test runs.
pub(crate) fn healthy() -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/healthz", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        }
    });
    url
}

/// A service that runs with good settings only, with the digest of its desired settings.
fn picky(bench: &Bench, digest: &str, url: &str) -> Value {
    let root = bench.root.display();
    let script = format!(
        "sleep 0.6; grep -q good {root}/settings || {{ echo 'Error: unrecognized setting'; exit 1; }}; echo $$ >>{root}/runs; \
         while [ -d {root} ]; do sleep 0.2; done"
    );
    value(json!({
        "name": "picky",
        "command": ["/bin/sh", "-c", script],
        "restart_triggers": {"/settings": digest},
        "steady_url": url,
        "steady_seconds": 2,
        "ready_timeout_seconds": 60,
    }))
}

#[tokio::test]
async fn settings_with_which_it_does_not_run_well_are_put_back() {
    let bench = Bench::new().await;
    let url = healthy();
    let settings = |text: &str| value(json!({"path": "/settings", "content": text, "keep_previous": true}));
    let digest = async || {
        let found = bench.attributes("file.settings", "/settings").await;
        found.get("sha256").and_then(Value::as_str).unwrap().to_owned()
    };
    bench.create("file.settings", settings("good")).await.unwrap();
    bench.create("service.picky", picky(&bench, &digest().await, &url)).await.unwrap();
    let runs = || std::fs::read_to_string(bench.path("/runs")).unwrap_or_default();
    until("the first run", || (!runs().is_empty()).then_some(())).await;

    // Twice: each time, the last working version is restored.
    for bad in ["bad", "worse"] {
        bench.update("file.settings", "/settings", settings(bad)).await.unwrap();
        let wanted = picky(&bench, &digest().await, &url);
        let refused = bench.update("service.picky", "picky", wanted.clone()).await.unwrap_err();
        for part in [
            "does not run well with its new settings: it ends again and again",
            "It said: Error: unrecognized setting",
            "/settings was put back as it was, and picky runs well with that",
        ] {
            assert!(refused.message.contains(part), "{part} in {}", refused.message);
        }
        assert_eq!(bench.text("/settings"), "good");
        assert_eq!(bench.changes("service.picky", "picky", &wanted).await, ["current: false -> true"]);
    }

    bench.update("file.settings", "/settings", settings("good enough")).await.unwrap();
    let wanted = picky(&bench, &digest().await, &url);
    bench.update("service.picky", "picky", wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("service.picky", "picky", &wanted).await, [""; 0]);
    assert_eq!(bench.text("/settings"), "good enough");
    let kept = std::fs::read_dir(bench.root.join("var/lib/slipway/replaced")).unwrap().count();
    assert_eq!(kept, 0, "nothing is kept of settings that work");
    bench.delete("service.picky", "picky").await.unwrap();
}
