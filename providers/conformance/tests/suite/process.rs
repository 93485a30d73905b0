//! The life of a provider's process, seen from the engine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slipway_protocol::{Error, Installed, Launch, LockFile, Process, Running, SearchPath, describe, lock};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, SessionRequest};
use slipway_resource::*;

use super::rules::reference;

fn launch() -> Launch {
    Launch::new("reference", &reference())
}

async fn session(running: &Running, directory: &Path) -> Arc<dyn Session> {
    let request = SessionRequest {
        config: Value::map([("directory", directory.to_str().unwrap())]),
        region: None,
        offline: false,
    };
    running.client().open_session(request).await.unwrap()
}

fn slow(milliseconds: i64) -> ApplyRequest {
    ApplyRequest {
        token: Token::new("t"),
        ownership: Ownership {
            uid: ClusterUid::new("u"),
            cluster: "c".into(),
            address: Address::new("reference_machine", "a"),
        },
        action: Action::Create {
            desired: Value::map([("network", Value::from("n")), ("boot_ms", milliseconds.into())]),
        },
        timeout_ms: 60_000,
    }
}

#[tokio::test]
async fn a_killed_provider_leaves_its_actions_unknown_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::launch(&launch()).await.unwrap();
    let session = session(&running, directory.path()).await;
    let apply = session.apply(slow(60_000), EventSink::discard());
    let kill = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        running.kill().await;
    };
    let (outcome, ()) = tokio::join!(apply, kill);
    let error = outcome.unwrap_err();
    assert_eq!(error.class, ErrorClass::OutcomeUnknown);
    assert!(error.message.contains("provider reference ended (signal: 9"), "{error}");
    // A call after the end of the process certainly has no effect, and a retry cannot help.
    let error = session.apply(slow(1), EventSink::discard()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Permanent, "{error}");
    let error = session.catalog().await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Permanent, "{error}");
}

#[tokio::test]
async fn an_orderly_end_cancels_what_runs() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::launch(&launch()).await.unwrap();
    let session = session(&running, directory.path()).await;
    let apply = tokio::spawn(async move { session.apply(slow(60_000), EventSink::discard()).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    assert!(running.end().await);
    assert!(begun.elapsed() < Duration::from_secs(8), "the grace was not needed");
    assert!(apply.await.unwrap().is_err());
}

/// Marks the second process, which takes the part of a killed engine.
const ENGINE: &str = "SLIPWAY_TEST_ENGINE_DIRECTORY";

#[tokio::test]
async fn engine_that_waits_to_be_killed() {
    let Some(directory) = std::env::var_os(ENGINE) else {
        return;
    };
    let process = Process::start(&launch()).await.unwrap();
    let file = Path::new(&directory).join("announcement");
    let text = serde_json::to_string(process.announcement()).unwrap();
    std::fs::write(file.with_extension("draft"), text).unwrap();
    std::fs::rename(file.with_extension("draft"), file).unwrap();
    std::future::pending::<()>().await;
}

#[test]
fn a_provider_ends_with_its_engine() {
    let directory = tempfile::tempdir().unwrap();
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::engine_that_waits_to_be_killed"])
        .env(ENGINE, directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let wait = |done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it takes too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let file = directory.path().join("announcement");
    wait(&|| file.exists());
    let text = std::fs::read_to_string(&file).unwrap();
    let announcement: slipway_protocol::handshake::Announcement = serde_json::from_str(&text).unwrap();
    engine.kill().unwrap();
    engine.wait().unwrap();
    let process = format!("/proc/{}/stat", announcement.pid);
    // Without a parent that reaps it, the ended process stays as a zombie.
    wait(&|| match std::fs::read_to_string(&process) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    });
    assert!(!announcement.address.exists(), "the socket is left behind");
}

#[tokio::test]
async fn what_is_no_provider_is_refused_with_its_last_words() {
    let directory = tempfile::tempdir().unwrap();
    let script = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = directory.path().join("slipway-provider-fake");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let start = async |text: &str| {
        let launch = Launch { timeout: Duration::from_millis(800), ..Launch::new("fake", &script(text)) };
        Process::start(&launch).await.unwrap_err()
    };
    let error = start("echo hello").await;
    assert_eq!(error.code(), "PROVIDER0009");
    let error = start("echo out of credit >&2; exit 3").await.to_string();
    assert!(error.contains("out of credit") && error.contains("exit status: 3"), "{error}");
    let error = start("sleep 30").await.to_string();
    assert!(error.contains("no announcement"), "{error}");
    let error = start("head -c 9000 /dev/zero | tr '\\0' x; sleep 30").await.to_string();
    assert!(error.contains("8192"), "{error}");
    let missing = Launch::new("fake", &directory.path().join("nothing"));
    assert!(matches!(Process::start(&missing).await, Err(Error::Start { .. })));
}

#[tokio::test]
async fn only_what_is_locked_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("reference");
    std::fs::create_dir(&home).unwrap();
    let text = "name = 'reference'\nversion = '0.1.0'\nprotocol = ['v1alpha1']\ndescription = 'A cloud.'\n";
    std::fs::write(home.join("provider.toml"), text).unwrap();
    let executable = home.join("slipway-provider-reference");
    std::fs::copy(reference(), &executable).unwrap();
    let search = SearchPath::new([directory.path().to_owned()]);
    let mut file = LockFile::read(&directory.path().join("slipway.lock")).unwrap();

    let error = Running::locked("reference", &search, &file).await.unwrap_err();
    assert_eq!(error.code(), "PROVIDER0005");
    let installed: Installed = search.find("reference").unwrap();
    let locked = lock(&installed, &mut file).await.unwrap();
    assert_eq!(locked, describe(&installed).await.unwrap().locked);
    let running = Running::locked("reference", &search, &file).await.unwrap();
    assert_eq!(running.provider().info().await.unwrap().name, "reference");
    assert!(running.end().await);

    let mut other = locked.clone();
    other.schema_digest = Digest::of_bytes(b"another");
    file.insert(other);
    let error = Running::locked("reference", &search, &file).await.unwrap_err();
    assert_eq!(error.code(), "PROVIDER0007");

    file.insert(locked);
    let mut bytes = std::fs::read(&executable).unwrap();
    bytes.push(0);
    std::fs::remove_file(&executable).unwrap();
    std::fs::write(&executable, bytes).unwrap();
    let error = Running::locked("reference", &search, &file).await.unwrap_err();
    assert_eq!(error.code(), "PROVIDER0006");
    assert!(error.hint().is_some());
}
