//! Several processes on one directory, some of them killed. A process is this test binary, running one of the tests
//! that are ignored otherwise.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use slipway_state_store::faults::{Call, Faulty, Moment};
use slipway_state_store::{
    Acquire, Backend, Epoch, Error, FileBackend, Holder, Identity, Key, Options, SystemClock, conformance,
};

use crate::support::{acquire, cluster, meta, numbers, record, view};

const DIRECTORY: &str = "SLIPWAY_TEST_DIRECTORY";
const WRITE: &str = "SLIPWAY_TEST_DIES_AT_WRITE";

fn spawn(test: &str, directory: &Path, write: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{test}"), "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(WRITE, write.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The same under a limit on the size of a file. A write over the limit ends in the middle with an error, as on a full disk.
fn spawn_without_room(test: &str, directory: &Path) -> Child {
    // 16 or 32 KiB, as the shell counts.
    let limited = "trap '' XFSZ; ulimit -f 32; exec \"$@\"";
    Command::new("sh")
        .args(["-c", limited, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{test}"), "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn backend(directory: &Path) -> Arc<dyn Backend> {
    Arc::new(FileBackend::open(directory))
}

/// The directory of the parent; `None` without a parent.
fn directory() -> Option<Arc<dyn Backend>> {
    Some(backend(Path::new(&std::env::var_os(DIRECTORY)?)))
}

async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never happens");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
#[ignore = "a process of counts_of_many_processes_add_up"]
async fn child_that_counts() {
    let Some(backend) = directory() else { return };
    conformance::increment(&backend, &Key::new("counter").unwrap(), 50).await.unwrap();
}

#[tokio::test]
async fn counts_of_many_processes_add_up() {
    let place = tempfile::tempdir().unwrap();
    let (backend, key) = (backend(place.path()), Key::new("counter").unwrap());
    backend.create(&key, Bytes::from_static(b"0")).await.unwrap();
    let children: Vec<Child> = (0..4).map(|_| spawn("child_that_counts", place.path(), 0)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(backend.get(&key).await.unwrap().unwrap().0, "200");
}

#[tokio::test]
#[ignore = "a process of a_killed_holder_is_replaced_at_once, which never ends by itself"]
async fn child_that_holds() {
    let Some(backend) = directory() else { return };
    let held = Holder::acquire(backend, &cluster(), acquire("child"), Arc::new(SystemClock)).await.unwrap();
    held.append(vec![record(1)]).await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_holder_is_replaced_at_once() {
    let place = tempfile::tempdir().unwrap();
    let backend = backend(place.path());
    let mut child = spawn("child_that_holds", place.path(), 0);
    until(async || {
        let seen = slipway_state_store::read(&*backend, &cluster()).await.unwrap()?;
        (numbers(&seen) == [1]).then_some(())
    })
    .await;
    let take =
        async || Holder::acquire(backend.clone(), &cluster(), acquire("test"), Arc::new(SystemClock)).await;
    match take().await {
        Err(Error::Held { holder, .. }) => assert_eq!(holder.process.pid, child.id()),
        other => panic!("{other:?}"),
    }
    child.kill().unwrap();
    // Not waited for yet: it is a zombie, which is as dead.
    let begin = Instant::now();
    let held = until(async || take().await.ok()).await;
    assert!(begin.elapsed() < Duration::from_secs(30), "not after a term");
    assert_eq!(held.epoch(), Epoch(2));
    held.append(vec![record(2)]).await.unwrap();
    assert_eq!(numbers(&view(&backend).await), [1, 2]);
    child.wait().unwrap();
}

#[tokio::test]
#[ignore = "a process of a_paused_holder_finds_out_when_it_goes_on"]
async fn child_that_is_paused() {
    let Some(backend) = directory() else { return };
    let held =
        Holder::acquire(backend.clone(), &cluster(), short("child"), Arc::new(SystemClock)).await.unwrap();
    held.append(vec![record(1)]).await.unwrap();
    loop {
        // As the engine does: the record, the look at the lease, the call.
        let began = held.append(vec![record(0)]).await.and_then(|()| held.valid());
        match began {
            Ok(()) => tokio::time::sleep(Duration::from_millis(1)).await,
            // It was paused between the two: no call leaves, and the next record tells why.
            Err(Error::Lapsed { .. }) => {}
            Err(error) => {
                assert!(error.is_lost(), "{error}");
                let told = Bytes::from(error.to_string());
                backend.create(&Key::new("told").unwrap(), told).await.unwrap();
                return;
            }
        }
    }
}

/// A claim with a term of two seconds.
fn short(who: &str) -> Acquire {
    let (term, margin) = (Duration::from_secs(2), Duration::from_millis(500));
    let options = Options { term, margin, ..Options::default() };
    acquire(who).options(options).wait(Duration::from_secs(60))
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[tokio::test]
async fn a_paused_holder_finds_out_when_it_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let backend = backend(place.path());
    let mut child = spawn("child_that_is_paused", place.path(), 0);
    until(async || {
        let seen = slipway_state_store::read(&*backend, &cluster()).await.unwrap()?;
        (seen.records.len() > 3).then_some(())
    })
    .await;
    signal("-STOP", child.id());
    let begin = Instant::now();
    let held =
        Holder::acquire(backend.clone(), &cluster(), short("test"), Arc::new(SystemClock)).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1), "it is alive, and may go on");
    let before = held.read().await.unwrap().records;
    signal("-CONT", child.id());
    assert!(child.wait().unwrap().success());
    let told = backend.get(&Key::new("told").unwrap()).await.unwrap().unwrap().0;
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.contains("lost to test@"), "{told}");
    assert_eq!(held.read().await.unwrap().records, before, "nothing of it is visible");
    held.valid().unwrap();
    held.release(None).await.unwrap();
}

/// Kills this process at a write, before or after it: the first is 2 (before) and 3 (after).
fn mortal(backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
    let at: usize = std::env::var(WRITE).unwrap().parse().unwrap();
    let seen = Arc::new(std::sync::atomic::AtomicUsize::new(2));
    let hook = move |_: Moment, _: Call| {
        let is_now = seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == at;
        Box::pin(async move {
            if is_now {
                signal("-KILL", std::process::id());
                std::future::pending::<()>().await;
            }
        }) as _
    };
    Arc::new(Faulty::new(backend).hook(hook))
}

/// Each run takes over, appends the next number three times, and commits the sum of all in between.
async fn run(backend: Arc<dyn Backend>) -> Result<(), Error> {
    let identity = Identity::current("run", "apply");
    let options = Options { term: Duration::from_secs(3_600), ..Options::default() };
    let acquire = Acquire::new(identity).create("uid-1".parse().unwrap()).options(options);
    let mut held = Holder::acquire(backend, &cluster(), acquire, Arc::new(SystemClock)).await?;
    let mut state = state(&held.read().await?);
    for round in 0..3 {
        state.push(state.len() as u64);
        held.append(vec![record(state.len() as u64 - 1)]).await?;
        if round == 1 {
            held.commit(serde_json::to_vec(&state).unwrap(), meta("apply")).await?;
        }
    }
    held.release(None).await?;
    Ok(())
}

fn state(view: &slipway_state_store::View) -> Vec<u64> {
    let mut state: Vec<u64> = serde_json::from_slice(view.snapshot.as_deref().unwrap_or(b"[]")).unwrap();
    state.extend(numbers(view));
    state
}

#[tokio::test]
#[ignore = "a process of a_run_killed_at_any_write_loses_nothing"]
async fn child_that_runs() {
    let Some(backend) = directory() else { return };
    run(mortal(backend)).await.unwrap();
}

#[tokio::test]
async fn a_run_killed_at_any_write_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let backend = backend(place.path());
    let (mut known, mut write, mut in_a_row) = (0, 2, 0);
    while in_a_row < 2 {
        let is_complete = spawn("child_that_runs", place.path(), write).wait().unwrap().success();
        in_a_row = if is_complete { in_a_row + 1 } else { 0 };
        write += 1;
        if let Some(seen) = slipway_state_store::read(&*backend, &cluster()).await.unwrap() {
            let state = state(&seen);
            assert_eq!(state, (0..state.len() as u64).collect::<Vec<_>>(), "each number once, in order");
            assert!(state.len() >= known, "nothing that was there is gone");
            known = state.len();
        }
    }
    assert!(write > 10, "it was killed at each of its writes: {write}");
    run(backend.clone()).await.unwrap();
    assert_eq!(state(&view(&backend).await).len(), known + 3);
}

/// A snapshot of 256 KiB.
fn large() -> Vec<u8> {
    (0..256_u32 << 10).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect()
}

#[tokio::test]
#[ignore = "a process of a_commit_without_room_on_the_disk_changes_nothing"]
async fn child_without_room() {
    let Some(backend) = directory() else { return };
    let acquire = acquire("child");
    let mut held =
        Holder::acquire(backend.clone(), &cluster(), acquire, Arc::new(SystemClock)).await.unwrap();
    held.append(vec![record(1)]).await.unwrap();
    held.commit(b"small".to_vec(), meta("apply")).await.unwrap();
    held.append(vec![record(2)]).await.unwrap();
    let error = held.commit(large(), meta("apply")).await.unwrap_err();
    assert!(!error.is_lost(), "{error}");
    // What fits is still written.
    held.append(vec![record(3)]).await.unwrap();
    let told = Bytes::from(error.to_string());
    backend.create(&Key::new("told").unwrap(), told).await.unwrap();
}

#[tokio::test]
async fn a_commit_without_room_on_the_disk_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let backend = backend(place.path());
    assert!(spawn_without_room("child_without_room", place.path()).wait().unwrap().success());
    assert!(backend.get(&Key::new("told").unwrap()).await.unwrap().is_some(), "the commit failed");
    let seen = view(&backend).await;
    assert_eq!(seen.snapshot.as_deref(), Some(&b"small"[..]));
    assert_eq!(numbers(&seen), [2, 3]);
    let temporary = std::fs::read_dir(place.path().join(".slipway/temporary")).unwrap();
    assert_eq!(temporary.count(), 0, "half a file is left");
    // With room, the next run goes on from there.
    let take =
        async || Holder::acquire(backend.clone(), &cluster(), acquire("test"), Arc::new(SystemClock)).await;
    let mut held = until(async || take().await.ok()).await;
    held.commit(large(), meta("apply")).await.unwrap();
    held.release(None).await.unwrap();
    let seen = view(&backend).await;
    assert_eq!(seen.snapshot.as_deref(), Some(&*large()));
    assert!(numbers(&seen).is_empty(), "the snapshot includes the records");
}
