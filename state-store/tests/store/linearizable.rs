//! Concurrent writers: the history of a cluster's head is linear, and every commit is within the time of its
//! writer.
//!
//! The state is the list of all commits. A writer acquires the cluster, reads the list, commits it with its
//! own name at the end, and releases it. So each commit names those before it, and their order can be
//! compared with the clock: a commit that was acknowledged before another was requested must be before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slipway_state_store::faults::{Failure, Fault, Faulty, Operation};
use slipway_state_store::{
    Acquire, Backend, Error, FileBackend, Holder, MemoryBackend, Settings, SystemClock, open_with,
};
use slipway_testkit::Moto;

use crate::support::{acquire, cluster, meta, options, view};

/// One commit, as its writer saw it.
#[derive(Debug)]
struct Commit {
    name: String,
    /// The moment before it took the cluster, and the one after it was told that it had committed.
    asked: u64,
    answered: u64,
    /// The commits that it read before its own.
    read: Vec<String>,
    generation: u64,
}

async fn write(backend: &Arc<dyn Backend>, name: String, moments: &AtomicU64) -> Result<Commit, Error> {
    let asked = moments.fetch_add(1, Ordering::SeqCst);
    let usual = slipway_state_store::Options { term: Duration::from_secs(20), ..options() };
    let acquire = Acquire { wait: Some(Duration::from_secs(300)), ..acquire(&name) }.options(usual);
    let mut held = Holder::acquire(backend.clone(), &cluster(), acquire, Arc::new(SystemClock)).await?;
    let read: Vec<String> =
        serde_json::from_slice(held.read().await?.snapshot.as_deref().unwrap_or(b"[]")).expect("a list");
    let mut list = read.clone();
    list.push(name.clone());
    let generation = held.commit(serde_json::to_vec(&list).expect("a list"), meta("apply")).await?.0;
    let answered = moments.fetch_add(1, Ordering::SeqCst);
    held.release(None).await?;
    Ok(Commit { name, asked, answered, read, generation })
}

/// Lets writers write, each several times, and checks what came of it.
async fn check(backend: Arc<dyn Backend>, writers: usize, times: usize) {
    let moments = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (backend, moments) = (backend.clone(), moments.clone());
            tokio::spawn(async move {
                let mut commits = Vec::new();
                for time in 0..times {
                    commits.push(write(&backend, format!("{writer}-{time}"), &moments).await.unwrap());
                }
                commits
            })
        })
        .collect();
    let mut commits = Vec::new();
    for task in tasks {
        commits.extend(task.await.unwrap());
    }
    commits.sort_by_key(|commit| commit.generation);
    let seen = view(&backend).await;
    let line: Vec<String> = serde_json::from_slice(&seen.snapshot.unwrap()).unwrap();
    assert_eq!(line.len(), writers * times, "no commit is lost");
    assert_eq!(seen.head.generation.0, line.len() as u64, "each commit is a generation");
    for (index, commit) in commits.iter().enumerate() {
        assert_eq!(commit.generation, index as u64 + 1, "generations are one chain: {commit:?}");
        assert_eq!(commit.read, line[..index], "each commit has read the one before it: {commit:?}");
        assert_eq!(commit.name, line[index]);
        let late = commits[index..].iter().find(|later| later.answered < commit.asked);
        assert!(
            late.is_none(),
            "{late:?} was answered before {commit:?} was asked for, and stands behind it"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory_with_faults() {
    let faulty = Arc::new(Faulty::new(Arc::new(MemoryBackend::new())));
    let failures = [Failure::Transient, Failure::UnknownWithEffect, Failure::UnknownWithoutEffect];
    for number in 0..60 {
        // Reads are sent again below this.
        let operation = [Operation::Create, Operation::Update][number % 2];
        faulty.fail(Fault::new(operation, "", failures[number / 2 % 3]).after(number * 5));
    }
    check(faulty, 8, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_files() {
    let directory = tempfile::tempdir().unwrap();
    check(Arc::new(FileBackend::open(directory.path().join("state"))), 8, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_s3() {
    let moto = Moto::start().unwrap();
    moto.create_bucket("state").unwrap();
    check(open_with("s3://state/here", &Settings::new(moto.environment())).unwrap(), 5, 4).await;
}
