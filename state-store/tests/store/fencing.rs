//! A holder that was replaced can do nothing any more, whatever it was in the middle of.

use std::sync::{Arc, Mutex};

use slipway_state_store::faults::{Failure, Fault, Faulty, Moment, Operation};
use slipway_state_store::{
    Backend, CommitMeta, Epoch, Garbage, Generation, Holder, Journal, MemoryBackend, Retention,
};

use crate::support::{acquire, holder, meta, numbers, record, take_over, view};

#[tokio::test]
async fn nothing_of_a_zombie_is_visible() {
    let memory = Arc::new(MemoryBackend::new());
    let backend: Arc<dyn Backend> = memory.clone();
    let (mut zombie, clock) = holder(&backend, acquire("ada")).await;
    zombie.append(vec![record(1)]).await.unwrap();
    zombie.valid().unwrap();

    let (mut holder, _) = take_over(&backend, "bob").await.unwrap();
    holder.append(vec![record(2)]).await.unwrap();
    let before = memory.dump();

    let error = zombie.append(vec![record(3)]).await.unwrap_err();
    assert!(error.to_string().contains("prod.example.com of epoch 1 was lost to bob@"), "{error}");
    assert!(zombie.valid().unwrap_err().is_lost());
    assert!(zombie.renew().await.unwrap_err().is_lost());
    assert!(zombie.commit(b"zombie".to_vec(), meta("apply")).await.unwrap_err().is_lost());
    assert!(zombie.journal().append(vec![]).await.unwrap_err().is_lost());
    assert!(zombie.release(None).await.unwrap_err().is_lost());
    drop(clock);
    assert_eq!(memory.dump(), before);

    assert_eq!(holder.commit(b"state".to_vec(), meta("apply")).await.unwrap(), Generation(1));
    let after = view(&backend).await;
    assert_eq!(after.snapshot.as_deref(), Some(&b"state"[..]));
    assert!(after.records.is_empty());
}

#[tokio::test]
async fn a_zombie_that_commits_first_learns_it_from_the_head() {
    let memory = Arc::new(MemoryBackend::new());
    let backend: Arc<dyn Backend> = memory.clone();
    let (mut zombie, _) = holder(&backend, acquire("ada")).await;
    zombie.append(vec![record(1)]).await.unwrap();
    let (holder, _) = take_over(&backend, "bob").await.unwrap();
    let head = holder.head();
    assert!(zombie.commit(b"zombie".to_vec(), meta("apply")).await.unwrap_err().is_lost());
    let after = view(&backend).await;
    assert_eq!((after.head, numbers(&view(&backend).await)), (head, vec![1]));
}

#[tokio::test]
async fn a_zombie_learns_who_it_was_from_a_commit() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (zombie, _) = holder(&backend, acquire("ada")).await;
    let (holder, _) = take_over(&backend, "bob").await.unwrap();
    let meta = CommitMeta { who: "bob@there".into(), ..meta("apply") };
    holder.release(Some((b"state".to_vec(), meta))).await.unwrap();
    let error = zombie.renew().await.unwrap_err();
    assert_eq!(error.to_string(), "the hold on prod.example.com of epoch 1 was lost to bob@there");
}

#[tokio::test]
async fn a_zombie_learns_it_also_when_nobody_holds_the_cluster_any_more() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (zombie, _) = holder(&backend, acquire("ada")).await;
    let (holder, _) = take_over(&backend, "bob").await.unwrap();
    holder.release(None).await.unwrap();
    let error = zombie.renew().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the hold on prod.example.com of epoch 1 was lost to somebody who has let it go since"
    );
}

/// A backend that lets an append of the old holder happen right before the seal of the new one is written.
fn append_before_seal(
    memory: Arc<dyn Backend>,
    times: u64,
) -> (Arc<dyn Backend>, Arc<Mutex<Option<Journal>>>) {
    let journal: Arc<Mutex<Option<Journal>>> = Arc::default();
    let (old, done) = (journal.clone(), Arc::new(Mutex::new(0)));
    let backend = Faulty::new(memory).hook(move |moment, call| {
        let (old, done) = (old.clone(), done.clone());
        Box::pin(async move {
            if moment != Moment::Before || !call.key.as_str().contains("/journal/000000000001/") {
                return;
            }
            let number = {
                let mut done = done.lock().unwrap();
                *done += 1;
                *done
            };
            let journal = old.lock().unwrap().clone();
            if let Some(journal) = journal.filter(|_| number <= times) {
                journal.append(vec![record(100 + number)]).await.unwrap();
            }
        })
    });
    (Arc::new(backend), journal)
}

#[tokio::test]
async fn appends_that_win_against_the_seal_count() {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (zombie, _) = holder(&memory, acquire("ada")).await;
    zombie.append(vec![record(1)]).await.unwrap();
    let (backend, journal) = append_before_seal(memory.clone(), 3);
    *journal.lock().unwrap() = Some(zombie.journal().clone());
    let (holder, _) = take_over(&backend, "bob").await.unwrap();
    assert!(zombie.append(vec![record(200)]).await.unwrap_err().is_lost());
    holder.append(vec![record(2)]).await.unwrap();
    assert_eq!(numbers(&view(&memory).await), [1, 101, 102, 103, 2]);
}

#[tokio::test]
async fn a_crash_between_taking_and_sealing_leaves_the_sealing_to_the_next() {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (first, _) = holder(&memory, acquire("ada")).await;
    first.append(vec![record(1)]).await.unwrap();

    // The second takes the head, and can write nothing more.
    let backend = Arc::new(Faulty::new(memory.clone()));
    backend.fail(Fault::new(Operation::Create, "journal", Failure::Permission).times(100));
    backend.fail(Fault::new(Operation::Update, "head", Failure::Permission).after(1).times(100));
    let shared: Arc<dyn Backend> = backend;
    assert!(take_over(&shared, "bob").await.is_err());
    let between = view(&memory).await;
    assert_eq!(between.head.epoch, Epoch(2));
    first.append(vec![record(2)]).await.unwrap();
    assert_eq!(numbers(&view(&memory).await), [1, 2], "epoch 1 is still open");

    let (third, _) = take_over(&memory, "eve").await.unwrap();
    assert_eq!(third.epoch(), Epoch(3));
    assert!(first.append(vec![record(3)]).await.unwrap_err().is_lost());
    third.append(vec![record(4)]).await.unwrap();
    assert_eq!(numbers(&view(&memory).await), [1, 2, 4]);
}

#[tokio::test]
async fn who_cannot_seal_gives_the_cluster_back() {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (first, _) = holder(&memory, acquire("ada")).await;
    let backend = Arc::new(Faulty::new(memory.clone()));
    backend.fail(Fault::new(Operation::Create, "journal", Failure::Permission));
    let shared: Arc<dyn Backend> = backend;
    assert!(take_over(&shared, "bob").await.is_err());
    let (third, _) = holder(&memory, acquire("eve")).await;
    assert_eq!(third.epoch(), Epoch(3));
    drop(first);
}

#[tokio::test]
async fn one_of_many_contenders_wins() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let contenders: Vec<_> = (0..8)
        .map(|number| {
            let backend = backend.clone();
            tokio::spawn(async move {
                let clock = Arc::new(slipway_state_store::clock::ManualClock::new());
                let acquire = acquire(&format!("contender-{number}"));
                Holder::acquire(backend, &crate::support::cluster(), acquire, clock).await
            })
        })
        .collect();
    let mut holders = Vec::new();
    for contender in contenders {
        holders.extend(contender.await.unwrap().ok());
    }
    assert_eq!(holders.len(), 1);
}

#[tokio::test]
async fn garbage_is_collected_and_seals_are_kept() {
    let memory = Arc::new(MemoryBackend::new());
    let backend: Arc<dyn Backend> = memory.clone();
    let (zombie, _) = holder(&backend, acquire("ada")).await;
    zombie.append(vec![record(1)]).await.unwrap();
    zombie.append(vec![record(2)]).await.unwrap();
    let (mut held, _) = take_over(&backend, "bob").await.unwrap();
    let none = held.collect_garbage(Retention::generations(0)).await.unwrap();
    assert_eq!(none, Garbage::default(), "nothing is included yet");
    for generation in 1..=4 {
        held.append(vec![record(generation)]).await.unwrap();
        held.commit(record(generation), meta("apply")).await.unwrap();
    }
    held.append(vec![record(5)]).await.unwrap();
    let before = view(&backend).await;
    // Two segments of the old epoch, four of the new one; the snapshots of generations 1 and 2.
    let garbage = held.collect_garbage(Retention::generations(1)).await.unwrap();
    assert_eq!((garbage.snapshots.len(), garbage.segments.len(), garbage.len()), (2, 6, 8));
    assert_eq!(view(&backend).await, before);
    assert_eq!(numbers(&before), [5]);
    assert!(zombie.append(vec![record(6)]).await.unwrap_err().is_lost());
    let kept: Vec<String> = memory.dump().keys().map(|key| key.to_string()).collect();
    assert_eq!(
        kept.len(),
        9,
        "head, three records, two snapshots, a seal, a segment, the replaced run: {kept:?}"
    );
    let (next, _) = take_over(&backend, "eve").await.unwrap();
    assert_eq!(numbers(&next.read().await.unwrap()), [5]);
}
