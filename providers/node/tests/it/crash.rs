//! The process is killed at every step of every write: the next run has the normal result, and no object is
//! left or lost.
//!
//! This executable does the work, started again; it kills itself at the given step.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use slipway_provider_node::{Config, InitSystem, Node};
use slipway_resource::provider::{Action, ApplyRequest, Resolution};
use slipway_resource::{Identity, Token, Value};

use super::bench::{Bench, secret, value};

const ROOT: &str = "SLIPWAY_TEST_CRASH_ROOT";
const STEP: &str = "SLIPWAY_TEST_CRASH_STEP";
const PHASE: &str = "SLIPWAY_TEST_CRASH_PHASE";

fn config(root: &Path) -> Config {
    Config { root: root.display().to_string(), init_system: InitSystem::None, ..Config::default() }
}

/// The desired resources at first and later, by address.
fn wanted(phase: &str) -> Vec<(&'static str, &'static str, Value)> {
    let content = if phase == "create" { "one" } else { "two, and longer" };
    let mut key = value(json!({"path": "/etc/app/key", "mode": "0600"}));
    key.set(&slipway_resource::Path::key("content"), secret(content));
    vec![
        (
            "directory.data",
            "/var/lib/app",
            value(json!({"path": "/var/lib/app", "mode": "0700", "purge": true})),
        ),
        (
            "file.settings",
            "/etc/app/settings",
            value(json!({"path": "/etc/app/settings", "content": content})),
        ),
        ("file.key", "/etc/app/key", key),
        (
            "file.replaced",
            "/etc/app/replaced",
            value(json!({"path": "/etc/app/replaced", "content": content, "replace_existing": true})),
        ),
        (
            "certificate.ca",
            "/etc/pki/ca.crt",
            value(json!({
                "path": "/etc/pki/ca.crt", "key_path": "/etc/pki/ca.key", "common_name": "ca", "is_ca": true,
                "key_algorithm": "ECDSA-P256",
            })),
        ),
        (
            "certificate.server",
            "/etc/pki/server.crt",
            value(json!({
                "path": "/etc/pki/server.crt", "key_path": "/etc/pki/server.key", "ca_path": "/etc/pki/ca.crt",
                "common_name": "server", "dns_names": [content.split(',').next()], "usages": ["server"],
                "key_algorithm": "ECDSA-P256",
            })),
        ),
        (
            "kubeconfig.admin",
            "/etc/admin.conf",
            value(json!({
                "path": "/etc/admin.conf", "cluster_name": "a", "server": format!("https://{}", content.len()),
                "ca_path": "/etc/pki/ca.crt", "user_name": "admin", "common_name": "admin",
                "key_algorithm": "ECDSA-P256",
            })),
        ),
        (
            "key_pair.sa",
            "/etc/pki/sa.pub",
            value(json!({
                "private_path": "/etc/pki/sa.key", "public_path": "/etc/pki/sa.pub", "algorithm": "ECDSA-P256",
            })),
        ),
        ("sysctl.a", "kernel.a", value(json!({"name": "kernel.a", "value": content}))),
    ]
}

fn requests(bench: &Bench, phase: &str) -> Vec<ApplyRequest> {
    let of = |(address, identity, desired): (&str, &str, Value)| {
        let action = match phase {
            "create" => Action::Create { desired },
            "update" => Action::Update { identity: Identity::new(identity), prior: Value::Null, desired },
            _ => Action::Delete { identity: Identity::new(identity) },
        };
        let request = bench.request(address, action);
        // The same in every attempt.
        ApplyRequest { token: Token::new(format!("{phase}-{address}")), ..request }
    };
    wanted(phase).into_iter().map(of).collect()
}

async fn open(root: &Path, node: Node) -> Bench {
    Bench::open(node, config(root)).await
}

/// The other side: does a phase, and kills itself at a step.
#[tokio::test]
async fn child() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let at: u32 = std::env::var(STEP).unwrap().parse().unwrap();
    let seen = AtomicU32::new(0);
    let node = Node::new().with_checkpoint(Arc::new(move |_: &str| {
        if seen.fetch_add(1, Ordering::SeqCst) == at {
            let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
        }
    }));
    let bench = open(Path::new(&root), node).await;
    for request in requests(&bench, &std::env::var(PHASE).unwrap()) {
        bench.apply(request).await.unwrap();
    }
}

/// Runs a phase that is killed at a step; whether it was.
fn run_killed(root: &Path, phase: &str, step: u32) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child"])
        .env(ROOT, root)
        .env(STEP, step.to_string())
        .env(PHASE, phase)
        .output()
        .unwrap();
    if output.status.signal() == Some(9) {
        return true;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

/// No file of ours is ever half of one: the old or the new content, or none where there was none.
fn assert_whole(bench: &Bench) {
    for file in ["settings", "key", "replaced"] {
        let path = bench.path(&format!("/etc/app/{file}"));
        let Ok(content) = std::fs::read_to_string(path) else { continue };
        assert!(["before", "one", "two, and longer"].contains(&content.as_str()), "{file}: {content}");
    }
}

/// Continues after a crash as the engine does: resumes each action, and sends it again when it was not done.
async fn go_on(bench: &Bench, phase: &str) {
    for request in requests(bench, phase) {
        // The journal has no texts of secrets.
        let journaled: ApplyRequest =
            serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        match bench.resume(journaled).await {
            Resolution::Done(_) => {}
            Resolution::NotDone | Resolution::Unknown => {
                bench.apply(request).await.unwrap();
            }
        }
    }
}

async fn prove(phase: &str) -> u32 {
    let mut step = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let bench = open(root, Node::new()).await;
        bench.put("/etc/app/replaced", "before");
        bench.put("/proc/sys/kernel/a", "before\n");
        if phase != "create" {
            go_on(&bench, "create").await;
            bench.put("/var/lib/app/member/data", "data");
        }
        let was_killed = run_killed(root, phase, step);
        assert_whole(&bench);
        let bench = open(root, Node::new()).await;
        go_on(&bench, phase).await;
        let left = std::fs::read_dir(bench.path("/var/lib/slipway/draft")).unwrap().count();
        assert_eq!(left, 0, "{phase} {step}: drafts are left");
        if phase == "delete" {
            assert!(bench.discover().await.is_empty(), "{phase} {step}");
            let at = |path: &str| std::fs::read_to_string(bench.path(path)).ok();
            assert_eq!(at("/etc/app/replaced").as_deref(), Some("before"), "{phase} {step}");
            assert_eq!(at("/proc/sys/kernel/a").as_deref(), Some("before"), "{phase} {step}");
            assert!(!bench.path("/etc/app/key").exists() && !bench.path("/var/lib/app").exists());
            assert!(!bench.path("/var/lib/slipway/owner").exists(), "{phase} {step}");
        } else {
            for (address, identity, desired) in wanted(phase) {
                assert_eq!(bench.changes(address, identity, &desired).await, [""; 0], "{phase} {step}");
            }
            assert_eq!(bench.discover().await.len(), wanted(phase).len(), "{phase} {step}");
            // All of it is known to be ours: nothing stays that is not to.
            go_on(&bench, "delete").await;
            for path in [
                "/etc/app/settings",
                "/etc/app/key",
                "/etc/pki/ca.crt",
                "/etc/pki/ca.key",
                "/etc/pki/server.key",
            ] {
                assert!(!bench.path(path).exists(), "{phase} {step}: {path} stays");
            }
        }
        if !was_killed {
            return step;
        }
        step += 1;
    }
}

#[tokio::test]
async fn a_create_killed_anywhere_comes_to_its_end() {
    assert!(prove("create").await > 80);
}

#[tokio::test]
async fn an_update_killed_anywhere_comes_to_its_end() {
    assert!(prove("update").await > 40);
}

#[tokio::test]
async fn a_delete_killed_anywhere_comes_to_its_end() {
    assert!(prove("delete").await > 20);
}
