//! Leases: which holder may have a cluster, and for how long.

use std::sync::Arc;
use std::time::Duration;

use slipway_state_store::clock::ManualClock;
use slipway_state_store::faults::{Failure, Fault, Faulty, Moment, Operation};
use slipway_state_store::head::protocol::{self, Claim, Presence};
use slipway_state_store::{
    Acquire, Backend, Epoch, Error, Generation, Holder, HolderId, Identity, MemoryBackend, Process,
    list_clusters, read, read_head,
};

use crate::support::{acquire, cluster, holder, meta, options, record, take_over, view};

const SECOND: Duration = Duration::from_secs(1);

fn memory() -> Arc<dyn Backend> {
    Arc::new(MemoryBackend::new())
}

/// Lets all ready tasks run.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_second_is_told_who_holds_it() {
    let backend = memory();
    let (first, _) = holder(&backend, acquire("ada")).await;
    let clock = Arc::new(ManualClock::new());
    clock.advance(12 * SECOND);
    let error = Holder::acquire(backend.clone(), &cluster(), acquire("bob"), clock).await.unwrap_err();
    let process = Process::current();
    assert_eq!(
        error.to_string(),
        format!(
            "prod.example.com is held by ada@{host} (process {pid} on {host}), who runs `apply` \
             since 1970-01-01T00:16:40Z, for 12 s",
            host = process.host,
            pid = process.pid
        )
    );
    first.valid().unwrap();
    first.release(None).await.unwrap();
    let (second, _) = holder(&backend, acquire("bob")).await;
    assert_eq!(second.epoch(), Epoch(2));
}

#[tokio::test]
async fn there_is_nothing_to_hold_until_it_is_made() {
    let backend = memory();
    assert!(read(&*backend, &cluster()).await.unwrap().is_none());
    let nothing = Acquire::new(Identity::current("ada", "apply"));
    let error = Holder::acquire(backend.clone(), &cluster(), nothing, Arc::new(ManualClock::new())).await;
    assert_eq!(error.unwrap_err().code(), "STATE0014");
    let (made, _) = holder(&backend, acquire("ada")).await;
    assert_eq!((made.epoch(), made.head().generation), (Epoch(1), Generation(0)));
    assert_eq!(made.head().uid.as_str(), "uid-1");
    assert_eq!(list_clusters(&*backend).await.unwrap(), [cluster()]);
}

#[tokio::test]
async fn a_silent_holder_is_replaced_after_a_full_term_and_not_before() {
    let backend = memory();
    let (first, _) = holder(&backend, acquire("ada")).await;
    let clock = Arc::new(ManualClock::new());
    let began = slipway_state_store::Clock::elapsed(&*clock);
    let (second, clock_after) = take_over(&backend, "bob").await.unwrap();
    let waited = slipway_state_store::Clock::elapsed(&*clock_after) - began;
    assert!((60 * SECOND..70 * SECOND).contains(&waited), "{waited:?}");
    assert_eq!(second.epoch(), Epoch(2));
    assert!(first.append(vec![record(1)]).await.unwrap_err().is_lost());
}

#[tokio::test]
async fn a_holder_that_renews_is_never_replaced() {
    let backend = memory();
    let (first, clock) = holder(&backend, acquire("ada")).await;
    let contending = Arc::new(ManualClock::new());
    let contender = tokio::spawn({
        let (backend, clock) = (backend.clone(), contending.clone());
        async move {
            let acquire = acquire("bob").wait(600 * SECOND);
            Holder::acquire(backend, &cluster(), acquire, clock).await
        }
    });
    for _ in 0..700 {
        settle().await;
        clock.advance(SECOND);
        contending.advance(SECOND);
        first.valid().unwrap();
    }
    settle().await;
    assert!(matches!(contender.await.unwrap(), Err(Error::Held { .. })));
    let (head, _) = read_head(&*backend, &cluster()).await.unwrap().unwrap();
    let renewals = head.holder.unwrap().lease.renewals;
    assert!((33..=36).contains(&renewals), "three times in a term: {renewals}");
}

#[tokio::test]
async fn waiting_ends_when_the_holder_goes() {
    let backend = memory();
    let (first, _) = holder(&backend, acquire("ada")).await;
    let clock = Arc::new(ManualClock::new());
    let contender = tokio::spawn({
        let (backend, clock) = (backend.clone(), clock.clone());
        async move { Holder::acquire(backend, &cluster(), acquire("bob").wait(10 * SECOND), clock).await }
    });
    settle().await;
    first.release(None).await.unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(contender.await.unwrap().unwrap().epoch(), Epoch(2));
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_is_not_relied_on() {
    let backend = Arc::new(Faulty::new(memory()));
    let shared: Arc<dyn Backend> = backend.clone();
    let (first, clock) = holder(&shared, acquire("ada")).await;
    backend.fail(Fault::new(Operation::Update, "head", Failure::Transient).times(1_000));
    for _ in 0..49 {
        clock.advance(SECOND);
        settle().await;
    }
    first.valid().unwrap();
    clock.advance(SECOND);
    assert!(matches!(first.valid(), Err(Error::Lapsed { .. })), "ten seconds before the term ends");
    assert!(matches!(first.renew().await, Err(Error::Backend(_))));
    first.append(vec![record(1)]).await.unwrap();
}

#[tokio::test]
async fn a_lease_counts_from_when_its_renewal_was_sent() {
    let clock = Arc::new(ManualClock::new());
    let slow = clock.clone();
    // Each write of the head takes 30 s, the first one too.
    let backend = Faulty::new(memory()).hook(move |moment, call| {
        if moment == Moment::After && call.key.name() == "head" {
            slow.advance(30 * SECOND);
        }
        Box::pin(std::future::ready(()))
    });
    let held = Holder::acquire(Arc::new(backend), &cluster(), acquire("ada"), clock.clone()).await.unwrap();
    held.valid().unwrap();
    clock.advance(20 * SECOND);
    assert!(matches!(held.valid(), Err(Error::Lapsed { .. })), "50 s after the claim was sent");
    held.renew().await.unwrap();
    held.valid().unwrap();
    clock.advance(20 * SECOND);
    assert!(matches!(held.valid(), Err(Error::Lapsed { .. })), "50 s after the renewal was sent");
}

#[tokio::test]
async fn a_lease_that_lapsed_comes_back_when_nobody_took_over() {
    let backend = memory();
    let (first, clock) = holder(&backend, acquire("ada")).await;
    clock.advance(100 * SECOND);
    assert_eq!(first.valid().unwrap_err().code(), "STATE0013");
    first.renew().await.unwrap();
    first.valid().unwrap();
}

#[tokio::test]
async fn a_run_that_slept_renews_before_it_goes_on() {
    let backend = memory();
    let (first, clock) = holder(&backend, acquire("ada")).await;
    clock.advance(100 * SECOND);
    assert!(matches!(first.valid(), Err(Error::Lapsed { .. })));
    let before = first.head();
    let waiting: Vec<_> = (0..20)
        .map(|_| first.journal().clone())
        .map(|journal| tokio::spawn(async move { journal.valid().await }))
        .collect();
    for one in waiting {
        one.await.unwrap().unwrap();
    }
    assert_ne!(first.head(), before, "it was renewed");
    first.valid().unwrap();
}

#[tokio::test]
async fn a_run_that_slept_through_a_takeover_is_told_by_whom() {
    let backend = memory();
    let (first, clock) = holder(&backend, acquire("ada")).await;
    let _second = take_over(&backend, "bob").await.unwrap();
    clock.advance(100 * SECOND);
    assert!(matches!(first.valid(), Err(Error::Lapsed { .. })));
    let Err(Error::Lost { by: Some(by), .. }) = first.journal().valid().await else { panic!("not lost") };
    assert!(by.contains("bob"), "{by}");
}

#[tokio::test]
async fn a_dead_process_of_this_host_is_replaced_at_once_on_a_local_backend_only() {
    for (locality, is_replaced) in
        [(slipway_state_store::Locality::Local, true), (slipway_state_store::Locality::Remote, false)]
    {
        let backend: Arc<dyn Backend> = Arc::new(Faulty::new(memory()).locality(locality));
        let mut identity = Identity::current("ada", "apply");
        identity.process.started += 1;
        let (_dead, _) = holder(&backend, Acquire { identity, ..acquire("ada") }).await;
        let next = Holder::acquire(backend, &cluster(), acquire("bob"), Arc::new(ManualClock::new())).await;
        assert_eq!(next.is_ok(), is_replaced, "{locality:?}");
    }
}

#[tokio::test]
async fn a_new_life_counts_on_and_nobody_of_the_old_one_can_write() {
    let backend = memory();
    let (mut first, _) = holder(&backend, acquire("ada")).await;
    first.append(vec![record(1)]).await.unwrap();
    first.commit(b"state".to_vec(), meta("apply")).await.unwrap();
    let left = first.journal().clone();
    assert_eq!(first.tombstone(meta("delete")).await.unwrap(), Generation(2));
    let tombstone = view(&backend).await;
    assert!(tombstone.head.deleted && tombstone.snapshot.is_none() && tombstone.records.is_empty());
    assert_eq!(tombstone.head.last_commit.unwrap().operation, "delete");
    assert_eq!(left.valid().await.unwrap_err().code(), "STATE0019");
    assert_eq!(left.append(vec![record(2)]).await.unwrap_err().code(), "STATE0019");

    let plain = Acquire { create: None, ..acquire("bob") };
    let refused = Holder::acquire(backend.clone(), &cluster(), plain, Arc::new(ManualClock::new())).await;
    assert!(matches!(refused, Err(Error::NoCluster { .. })));
    let (second, _) = holder(&backend, acquire("bob").create("uid-2".parse().unwrap())).await;
    second.append(vec![record(3)]).await.unwrap();
    let reborn = view(&backend).await;
    assert_eq!((reborn.head.epoch, reborn.head.generation), (Epoch(2), Generation(2)));
    assert_eq!((reborn.head.uid.as_str(), reborn.head.deleted), ("uid-2", false));
    assert_eq!(crate::support::numbers(&reborn), [3]);
}

#[tokio::test]
async fn a_lost_answer_to_taking_or_renewing_is_resolved() {
    let backend = Arc::new(Faulty::new(memory()));
    let shared: Arc<dyn Backend> = backend.clone();
    for failure in [Failure::UnknownWithEffect, Failure::UnknownWithoutEffect, Failure::Transient] {
        for operation in [Operation::Create, Operation::Update, Operation::Get] {
            backend.fail(Fault::new(operation, "prod.example.com", failure));
        }
        let (mut held, _) = holder(&shared, acquire("ada")).await;
        for part in ["journal", "snapshots"] {
            backend.fail(Fault::new(Operation::Create, part, failure));
        }
        backend.fail(Fault::new(Operation::Update, "head", failure).times(2));
        held.append(vec![record(1)]).await.unwrap();
        held.renew().await.unwrap();
        let before = held.head().generation;
        let committed = held.commit(b"state".to_vec(), meta("apply")).await.unwrap();
        assert_eq!(committed, before.next());
        held.release(None).await.unwrap();
    }
    assert_eq!(view(&shared).await.head.generation, Generation(3));
}

#[tokio::test]
async fn what_the_holder_gave_up_on_may_still_have_happened() {
    let backend = Arc::new(Faulty::new(memory()));
    let shared: Arc<dyn Backend> = backend.clone();
    let (mut held, _) = holder(&shared, acquire("ada")).await;
    let attempts = usize::try_from(options().retry.attempts).unwrap();
    backend.fail(Fault::new(Operation::Update, "head", Failure::UnknownWithEffect));
    backend.fail(Fault::new(Operation::Update, "head", Failure::UnknownWithoutEffect).times(attempts - 1));
    assert!(held.renew().await.is_err());
    assert_eq!(held.commit(b"state".to_vec(), meta("apply")).await.unwrap(), Generation(1));
    held.valid().unwrap();
}

#[tokio::test]
async fn a_claim_is_refused_by_pure_functions_too() {
    let claim = Claim {
        id: HolderId::new("x"),
        identity: Identity::current("ada", "apply"),
        since: jiff::Timestamp::UNIX_EPOCH,
        term: 60 * SECOND,
        create: None,
    };
    let refused = protocol::acquire(&cluster(), None, &claim, Presence::Assumed, String::new());
    assert_eq!(refused, Err(protocol::Refusal::NoCluster));
}
