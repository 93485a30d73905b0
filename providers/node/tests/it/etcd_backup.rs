//! Snapshots of a real etcd: taken by the service on its schedule and on request, sealed, listed, removed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use slipway_provider_node::{Config, InitSystem, Node, fetch_etcd_snapshot};
use slipway_resource::provider::{Action, Applied};
use slipway_resource::{Identity, Observation, ProviderError, Value};
use slipway_testkit::kubernetes;
use slipway_testkit::process::Process;

use super::bench::{Bench, value};
use super::etcd::{Host, PKI, first};

const ADDRESS: &str = "etcd_backup.etcd";
const SERVICE: &str = "slipway-etcd-backup";
const SETTINGS: &str = "/etc/slipway/etcd-backup.json";

fn wanted(host: &Host, interval_seconds: u64) -> Value {
    value(json!({
        "cluster": "demo",
        "member": host.name,
        "endpoint": host.url(),
        "ca_path": format!("{PKI}/ca.crt"),
        "cert_path": format!("{PKI}/healthcheck-client.crt"),
        "key_path": format!("{PKI}/healthcheck-client.key"),
        "authority_key_path": format!("{PKI}/ca.key"),
        "interval_seconds": interval_seconds,
        "retention_seconds": 86_400,
        "keep_on_delete": false,
    }))
}

async fn operate(bench: &Bench, name: &str) -> Result<Applied, ProviderError> {
    let identity = Identity::new(SERVICE);
    let action = Action::Operation { identity, name: name.to_owned(), arguments: Value::Null };
    bench.apply(bench.request(ADDRESS, action)).await
}

async fn snapshots(bench: &Bench) -> Vec<serde_json::Value> {
    let listed = operate(bench, "snapshots").await.unwrap().attributes.to_json();
    listed["snapshots"].as_array().unwrap().clone()
}

/// Asks etcd, as an administrator would.
fn etcdctl(host: &Host, words: &[&str]) -> String {
    let pki = host.bench.path(PKI);
    let mut command = Command::new(kubernetes::install_etcd().unwrap().join("etcdctl"));
    command.args(words).args(["--endpoints", &host.url()]);
    command.arg("--cacert").arg(pki.join("ca.crt"));
    command.arg("--cert").arg(pki.join("healthcheck-client.crt"));
    command.arg("--key").arg(pki.join("healthcheck-client.key"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The service, as the machine's supervisor runs it.
fn service(host: &Host) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-provider-node"));
    command.arg("etcd-backup").arg("--config").arg(host.bench.path(SETTINGS));
    Process::start(&command, &log(host)).unwrap()
}

fn log(host: &Host) -> PathBuf {
    host.bench.root.join("service.log")
}

/// Waits until so many snapshots are listed.
async fn until(host: &Host, count: usize) -> Vec<serde_json::Value> {
    for _ in 0..300 {
        let found = snapshots(&host.bench).await;
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no {count} snapshots: {}", std::fs::read_to_string(log(host)).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_on_request_has_what_etcd_has() {
    let (host, _etcd) = first().await;
    let made = host.bench.create(ADDRESS, wanted(&host, 3_600)).await.unwrap();
    assert_eq!(made.attributes.get("running"), Some(&Value::Bool(true)));
    assert_eq!(host.bench.changes(ADDRESS, SERVICE, &wanted(&host, 3_600)).await, [""; 0]);
    for number in 0..20 {
        etcdctl(&host, &["put", &format!("/registry/a/{number}"), &"x".repeat(1_000)]);
    }
    let taken = operate(&host.bench, "snapshot").await.unwrap().attributes.to_json();
    assert_eq!(taken["revision"], 21);
    assert_eq!(taken["member"], "one");
    assert!(taken["verified"].is_string() && taken["etcd_version"].as_str().unwrap().starts_with("3."));
    let listed = operate(&host.bench, "snapshots").await.unwrap().attributes.to_json();
    assert_eq!(listed["snapshots"][0]["name"], taken["name"]);
    assert_eq!((&listed["leads"], &listed["revision"]), (&json!(true), &json!(21)));
    // etcd's own program accepts the restored file as a snapshot.
    let file = host.bench.path("/fetched.db");
    let settings = host.bench.path(SETTINGS);
    let name = taken["name"].as_str().unwrap();
    assert_eq!(fetch_etcd_snapshot(&settings, name, &file).await.unwrap(), 21);
    let mut etcdutl = Command::new(kubernetes::install_etcd().unwrap().join("etcdutl"));
    let status = etcdutl.args(["snapshot", "status", "-w", "json"]).arg(&file).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&status["revision"], &status["totalSize"]), (&json!(21), &taken["size"]), "{status}");
    let restored = host.bench.path("/restored");
    let mut etcdutl = Command::new(kubernetes::install_etcd().unwrap().join("etcdutl"));
    let restore = etcdutl.args(["snapshot", "restore"]).arg(&file).arg("--data-dir").arg(&restored);
    let restore = restore.args(["--bump-revision", "1000", "--mark-compacted"]).output().unwrap();
    assert!(restore.status.success(), "{}", String::from_utf8_lossy(&restore.stderr));
    // Nothing of it can be read without the key, and only root can look for it.
    let mut stored = Vec::new();
    for entry in walk(&host.bench.path("/var/backups/slipway")) {
        stored.extend(std::fs::read(entry).unwrap());
    }
    assert!(!stored.windows(10).any(|bytes| bytes == b"/registry/"));
    let mode = |path: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(host.bench.path(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("/var/backups/slipway"), mode(SETTINGS)), (0o700, 0o600));
    assert!(
        !host.bench.path("/var/lib/slipway/etcd-backup/snapshot.db").exists(),
        "nothing is left in clear"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_takes_snapshots_on_its_schedule_while_its_member_leads() {
    let (host, etcd) = first().await;
    host.bench.create(ADDRESS, wanted(&host, 1)).await.unwrap();
    let running = service(&host);
    until(&host, 2).await;
    etcdctl(&host, &["put", "a", "b"]);
    let before = snapshots(&host.bench).await.len();
    let found = until(&host, before + 2).await;
    assert_eq!(found.last().unwrap()["revision"], 2);
    let said = std::fs::read_to_string(log(&host)).unwrap();
    assert!(said.contains("read back and verified"), "{said}");
    // Without etcd, no snapshot is taken. The failure is logged once, and can be read.
    drop(etcd);
    for _ in 0..100 {
        let listed = operate(&host.bench, "snapshots").await.unwrap().attributes.to_json();
        if listed["failure"].is_string() {
            assert!(listed["member_problem"].is_string(), "{listed}");
            drop(running);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no failure is noted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_store_restarts_the_service_and_a_wrong_one_is_refused() {
    let (host, _etcd) = first().await;
    host.bench.create(ADDRESS, wanted(&host, 3_600)).await.unwrap();
    let mut other = wanted(&host, 3_600);
    other.set(&slipway_resource::Path::key("store"), "file:///srv/snapshots".into());
    host.bench.update(ADDRESS, SERVICE, other.clone()).await.unwrap();
    assert_eq!(host.bench.changes(ADDRESS, SERVICE, &other).await, [""; 0]);
    operate(&host.bench, "snapshot").await.unwrap();
    assert!(host.bench.path("/srv/snapshots/demo/etcd").exists());
    for wrong in ["ftp://somewhere", "relative/folder", "s3://"] {
        other.set(&slipway_resource::Path::key("store"), wrong.into());
        assert!(host.bench.planned(ADDRESS, other.clone()).await.is_err(), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_go_only_with_the_whole_cluster_and_when_asked() {
    let (host, _etcd) = first().await;
    host.bench.create(ADDRESS, wanted(&host, 3_600)).await.unwrap();
    operate(&host.bench, "snapshot").await.unwrap();
    host.bench.delete(ADDRESS, SERVICE).await.unwrap();
    assert_eq!(host.bench.read(ADDRESS, SERVICE).await, Observation::Absent);
    assert!(!host.bench.path(SETTINGS).exists());
    assert!(!host.bench.path("/var/lib/slipway/etcd-backup").exists());
    assert!(
        host.bench.path("/var/backups/slipway/demo").exists(),
        "one control plane leaves, the cluster stays"
    );
    host.bench.create(ADDRESS, wanted(&host, 3_600)).await.unwrap();
    let config = Config {
        root: host.bench.root.display().to_string(),
        init_system: InitSystem::None,
        leaving: true,
        ..Config::default()
    };
    let leaving = Bench::open(Node::new(), config).await;
    leaving.delete(ADDRESS, SERVICE).await.unwrap();
    assert!(!host.bench.path("/var/backups/slipway").exists());
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}
