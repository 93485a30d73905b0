//! The guarantees and the cost of appending.

use std::sync::Arc;
use std::time::{Duration, Instant};

use slipway_state_store::faults::{Failure, Fault, Faulty, Moment, Operation};
use slipway_state_store::{
    Backend, Epoch, Error, FileBackend, Holder, Locality, MemoryBackend, Options, Sequence, SystemClock,
    layout,
};

use crate::support::{acquire, cluster, holder, meta, numbers, options, record, view};

fn faulty() -> (Arc<Faulty>, Arc<dyn Backend>) {
    let faulty = Arc::new(Faulty::new(Arc::new(MemoryBackend::new())));
    (faulty.clone(), faulty)
}

async fn append_at_once(held: &Holder, numbers: std::ops::Range<u64>) {
    let appends = numbers.map(|number| held.journal().append(vec![record(number)]));
    for result in futures_util::future::join_all(appends).await {
        result.unwrap();
    }
}

#[tokio::test]
async fn appends_at_once_share_segments() {
    let (faulty, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    append_at_once(&held, 0..100).await;
    assert!(faulty.count(Operation::Create, "journal") <= 2, "{:?}", faulty.calls());
    assert_eq!(numbers(&view(&backend).await), (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn ten_thousand_steps_cost_few_writes_and_little_time() {
    let directory = tempfile::tempdir().unwrap();
    let faulty = Arc::new(Faulty::new(Arc::new(FileBackend::open(directory.path()))));
    let backend: Arc<dyn Backend> = faulty.clone();
    let (held, _) = holder(&backend, acquire("ada")).await;
    let begin = Instant::now();
    let step = vec![b'"'].into_iter().chain([b'x'; 300]).chain([b'"']).collect::<Vec<u8>>();
    // 64 steps run at a time, each with a record before and after.
    let producers = (0..64).map(|_| async {
        for _ in 0..10_000 / 64 {
            held.journal().append(vec![step.clone()]).await.unwrap();
            held.journal().append(vec![step.clone()]).await.unwrap();
        }
    });
    futures_util::future::join_all(producers).await;
    println!("10,000 steps: {:?}", begin.elapsed());
    let writes = faulty.count(Operation::Create, "journal");
    assert!(writes <= 2 * 10_000 / 64 + 10, "{writes}");
    let begin = Instant::now();
    assert_eq!(view(&backend).await.records.len(), 2 * (10_000 / 64) * 64);
    println!("{writes} segments read in {:?}", begin.elapsed());
}

#[tokio::test]
async fn one_caller_never_waits_for_company() {
    let remote = Faulty::new(Arc::new(MemoryBackend::new())).locality(Locality::Remote);
    let backend: Arc<dyn Backend> = Arc::new(remote);
    let window = Some(Duration::from_secs(3_600));
    let (held, _) = holder(&backend, acquire("ada").options(Options { window, ..options() })).await;
    for number in 0..20 {
        held.append(vec![record(number)]).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn company_is_waited_for_until_it_is_there_or_told_not_to_come() {
    let (faulty, backend) = faulty();
    let window = Duration::from_secs(10);
    let options = Options { window: Some(window), ..options() };
    let (held, _) = holder(&backend, acquire("ada").options(options)).await;
    append_at_once(&held, 0..8).await;
    let (before, begin) = (faulty.count(Operation::Create, "journal"), tokio::time::Instant::now());
    append_at_once(&held, 8..16).await;
    assert_eq!(faulty.count(Operation::Create, "journal"), before + 1, "the same eight again: one segment");
    assert_eq!(begin.elapsed(), Duration::ZERO);

    held.append(vec![record(16)]).await.unwrap();
    assert_eq!(begin.elapsed(), window, "seven did not come");

    append_at_once(&held, 17..25).await;
    let begin = tokio::time::Instant::now();
    held.journal().hurry();
    held.append(vec![record(25)]).await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn records_of_one_append_stay_together() {
    let (_, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    let appends = (0..30).map(|n| held.journal().append(vec![record(n), record(n), record(n)]));
    futures_util::future::join_all(appends).await;
    let numbers = numbers(&view(&backend).await);
    assert_eq!(numbers.len(), 90);
    assert!(numbers.chunks(3).all(|three| three.iter().all(|n| *n == three[0])), "{numbers:?}");
}

#[tokio::test]
async fn a_bad_record_is_refused_and_harms_nothing() {
    let (faulty, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    let error = held.append(vec![record(1), b"{\n}".to_vec()]).await.unwrap_err();
    assert_eq!(error.to_string(), "record 1 is not a JSON value on one line");
    held.append(Vec::new()).await.unwrap();
    assert_eq!(faulty.count(Operation::Create, "journal"), 0);
    held.append(vec![record(2)]).await.unwrap();
}

#[tokio::test]
async fn lost_answers_are_resolved_and_written_once() {
    let (faulty, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    for (number, failure) in [Failure::UnknownWithEffect, Failure::UnknownWithoutEffect, Failure::Transient]
        .into_iter()
        .enumerate()
    {
        faulty.fail(Fault::new(Operation::Create, "journal", failure).times(2));
        if failure == Failure::UnknownWithEffect {
            faulty.fail(Fault::new(Operation::Get, "journal", Failure::Transient));
        }
        held.append(vec![record(number as u64)]).await.unwrap();
    }
    assert_eq!(numbers(&view(&backend).await), [0, 1, 2]);
}

#[tokio::test]
async fn after_a_failure_nothing_is_appended_until_somebody_takes_up() {
    let (faulty, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    held.append(vec![record(1)]).await.unwrap();
    faulty.fail(Fault::new(Operation::Create, "journal", Failure::Permission));
    assert_eq!(held.append(vec![record(2)]).await.unwrap_err().code(), "STATE0006");
    assert_eq!(held.append(vec![record(3)]).await.unwrap_err().code(), "STATE0006");
    held.release(None).await.unwrap();
    let (next, _) = holder(&backend, acquire("ada")).await;
    next.append(vec![record(4)]).await.unwrap();
    assert_eq!(numbers(&view(&backend).await), [1, 4]);
}

#[tokio::test]
async fn a_commit_does_not_swallow_what_it_cannot_include() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let waiting = gate.clone();
    let faulty = Arc::new(Faulty::new(Arc::new(MemoryBackend::new())).hook(move |moment, call| {
        let waiting = waiting.clone();
        Box::pin(async move {
            if moment == Moment::Before && call.key.as_str().contains("/journal/") {
                waiting.acquire().await.unwrap().forget();
            }
        })
    }));
    let backend: Arc<dyn Backend> = faulty.clone();
    let (mut held, _) = holder(&backend, acquire("ada")).await;
    let journal = held.journal().clone();
    let append = tokio::spawn(async move { journal.append(vec![record(1)]).await });
    while faulty.count(Operation::Create, "journal") == 0 {
        tokio::task::yield_now().await;
    }
    let error = held.commit(b"without 1".to_vec(), meta("apply")).await.unwrap_err();
    assert!(matches!(error, Error::AppendsUnderWay { pending: 1, .. }), "{error}");
    gate.add_permits(100);
    append.await.unwrap().unwrap();
    assert_eq!(numbers(&view(&backend).await), [1]);
    held.append(vec![record(2)]).await.unwrap();
    held.commit(b"with 1 and 2".to_vec(), meta("apply")).await.unwrap();
    held.append(vec![record(3)]).await.unwrap();
    let seen = view(&backend).await;
    assert_eq!((seen.snapshot.as_deref(), numbers(&seen)), (Some(&b"with 1 and 2"[..]), vec![3]));
}

#[tokio::test]
async fn a_segment_of_another_history_is_noticed() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let other: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    for backend in [&backend, &other] {
        let (held, _) = holder(backend, acquire("ada")).await;
        held.append(vec![record(1)]).await.unwrap();
        held.append(vec![record(2)]).await.unwrap();
        held.close().await;
    }
    let key = layout::segment(&cluster(), Epoch(1), Sequence(1));
    let (bytes, _) = other.get(&key).await.unwrap().unwrap();
    backend.delete(&key).await.unwrap();
    backend.create(&key, bytes).await.unwrap();
    let error = slipway_state_store::read(&*backend, &cluster()).await.unwrap_err();
    assert!(error.to_string().ends_with("it does not follow the segment before it"), "{error}");
}

#[tokio::test]
async fn what_is_under_way_is_finished_before_the_cluster_is_let_go() {
    let (_, backend) = faulty();
    let (held, _) = holder(&backend, acquire("ada")).await;
    let journals: Vec<_> = (0..50).map(|_| held.journal().clone()).collect();
    let appends: Vec<_> = (0..50_u64)
        .zip(journals)
        .map(|(n, journal)| tokio::spawn(async move { journal.append(vec![record(n)]).await }))
        .collect();
    tokio::task::yield_now().await;
    held.release(None).await.unwrap();
    let mut durable = Vec::new();
    for (number, append) in (0..).zip(appends) {
        match append.await.unwrap() {
            Ok(()) => durable.push(number),
            Err(error) => assert_eq!(error.code(), "STATE0019"),
        }
    }
    assert_eq!(numbers(&view(&backend).await), durable);
}

#[tokio::test]
async fn damage_is_never_passed_over() {
    let memory = Arc::new(MemoryBackend::new());
    let backend: Arc<dyn Backend> = memory.clone();
    let (mut held, _) = holder(&backend, acquire("ada")).await;
    held.commit(b"state".to_vec(), meta("apply")).await.unwrap();
    for number in 0..3 {
        held.append(vec![record(number)]).await.unwrap();
    }
    let (journal, whole) = (layout::journal(&cluster(), held.epoch()), memory.dump());
    let segments = backend.list(&journal).await.unwrap();
    assert_eq!(segments.len(), 3);
    let snapshots = backend.list(&layout::snapshots(&cluster())).await.unwrap();
    for (broken, key) in
        [(true, &segments[1]), (true, &segments[2]), (false, &segments[0]), (false, &segments[1])]
            .into_iter()
            .chain(snapshots.iter().flat_map(|key| [(true, key), (false, key)]))
    {
        backend.delete(key).await.unwrap();
        if broken {
            let torn = whole[key].slice(..whole[key].len() - 1);
            backend.create(key, torn).await.unwrap();
        }
        let error = slipway_state_store::read(&*backend, &cluster()).await.unwrap_err();
        assert_eq!(error.code(), "STATE0007", "{key}");
        backend.delete(key).await.unwrap();
        backend.create(key, whole[key].clone()).await.unwrap();
        view(&backend).await;
    }
}

#[tokio::test]
async fn with_the_clock_of_this_machine() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let held =
        Holder::acquire(backend.clone(), &cluster(), acquire("ada"), Arc::new(SystemClock)).await.unwrap();
    held.append(vec![record(1)]).await.unwrap();
    held.valid().unwrap();
    held.close().await;
    assert_eq!(numbers(&view(&backend).await), [1]);
}
