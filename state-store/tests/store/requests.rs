//! Every request of a short life of a cluster fails once, in every way: no record is lost or stored twice.
//!
//! Without `SLIPWAY_CRASH=all` only a fifth is tested: each way at every fifth request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use slipway_state_store::{
    Acquire, Backend, ClusterName, Error, Generation, Holder, Settings, SystemClock, open_with, read,
};
use slipway_testkit::proxy::Verdict;
use slipway_testkit::{Moto, Proxy};

use crate::support::{acquire, meta, numbers, options, record};

/// The timeout of a request; a delayed request takes longer.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// The possible outcomes of a request, and whether the store receives it.
fn verdicts() -> Vec<(&'static str, Verdict)> {
    vec![
        ("409 instead of the effect", Verdict::status(409)),
        ("412 instead of the effect", Verdict::status(412)),
        ("500 instead of the effect", Verdict::status(500)),
        ("503 instead of the effect", Verdict::status(503)),
        ("closed before the effect", Verdict::DropBefore),
        ("no answer, no effect", Verdict::Silence(TIMEOUT + TIMEOUT / 4)),
        ("409 after the effect", Verdict::AnswerAfter(409)),
        ("412 after the effect", Verdict::AnswerAfter(412)),
        ("500 after the effect", Verdict::AnswerAfter(500)),
        ("503 after the effect", Verdict::AnswerAfter(503)),
        ("closed after the effect", Verdict::DropAfter),
        ("no answer after the effect", Verdict::SilenceAfter(TIMEOUT + TIMEOUT / 4)),
    ]
}

/// A bucket behind a proxy that applies a verdict to one request.
struct Place {
    _moto: Moto,
    proxy: Proxy,
    settings: Settings,
    countdown: Arc<AtomicUsize>,
    verdict: Arc<std::sync::Mutex<Verdict>>,
}

const NEVER: usize = usize::MAX;

impl Place {
    fn new() -> Self {
        let moto = Moto::start().unwrap();
        moto.create_bucket("state").unwrap();
        let countdown = Arc::new(AtomicUsize::new(NEVER));
        let verdict = Arc::new(std::sync::Mutex::new(Verdict::Pass));
        let (left, told) = (countdown.clone(), verdict.clone());
        let proxy = Proxy::start(moto.port(), move |_| {
            let step = |left: usize| (left != NEVER).then(|| left.wrapping_sub(1));
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) {
                Ok(0) => told.lock().unwrap().clone(),
                _ => Verdict::Pass,
            }
        })
        .unwrap();
        let mut settings = Settings::new(moto.environment());
        settings.s3.endpoint = Some(proxy.endpoint());
        settings.timeout = Some(TIMEOUT);
        Self { _moto: moto, proxy, settings, countdown, verdict }
    }

    fn open(&self) -> Arc<dyn Backend> {
        open_with("s3://state/here", &self.settings).unwrap()
    }

    fn fail(&self, at: usize, verdict: Verdict) {
        *self.verdict.lock().unwrap() = verdict;
        self.countdown.store(at, Ordering::SeqCst);
    }
}

/// Acquires a cluster from its last holder, appends, commits, appends, releases it. Notes the acknowledged
/// records, also when it fails.
async fn live(
    backend: &Arc<dyn Backend>,
    name: &str,
    from: u64,
    acknowledged: &mut Vec<u64>,
) -> Result<(), Error> {
    let acquire = Acquire { wait: Some(Duration::from_secs(30)), ..acquire("ada") };
    let term = Duration::from_secs(1);
    let acquire = acquire.options(slipway_state_store::Options { term, margin: Duration::ZERO, ..options() });
    let mut held =
        Holder::acquire(backend.clone(), &ClusterName::new(name)?, acquire, Arc::new(SystemClock)).await?;
    held.append(vec![record(from)]).await?;
    acknowledged.push(from);
    let read = held.read().await?;
    let mut state: Vec<u64> =
        serde_json::from_slice(read.snapshot.as_deref().unwrap_or(b"[]")).expect("a snapshot of this test");
    state.extend(numbers(&read));
    held.commit(serde_json::to_vec(&state).expect("numbers"), meta("apply")).await?;
    held.append(vec![record(from + 1)]).await?;
    acknowledged.push(from + 1);
    held.release(None).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_fails_in_each_way() {
    let place = Place::new();
    // The first life creates the store and the cluster; the second one is tested.
    let backend = place.open();
    live(&backend, "undisturbed", 0, &mut Vec::new()).await.unwrap();
    place.proxy.reset();
    live(&backend, "undisturbed", 2, &mut Vec::new()).await.unwrap();
    let requests = place.proxy.reset();
    assert!((8..40).contains(&requests), "{requests} requests in a life");

    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let (mut failed, mut lives) = (0, 0);
    for (number, (name, verdict)) in verdicts().into_iter().enumerate() {
        for at in (0..requests).filter(|at| all || at % 5 == number % 5) {
            let what = format!("request {at} of {requests}: {name}");
            let cluster = format!("c-{number}-{at}");
            let mut acknowledged = Vec::new();
            live(&backend, &cluster, 0, &mut acknowledged).await.unwrap();
            place.fail(at, verdict.clone());
            let disturbed = live(&backend, &cluster, 2, &mut acknowledged).await;
            place.fail(NEVER, Verdict::Pass);
            // The next holder finds a consistent state.
            live(&backend, &cluster, 4, &mut acknowledged)
                .await
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let seen = read(&*backend, &ClusterName::new(cluster).unwrap()).await.unwrap().unwrap();
            let mut found: Vec<u64> = serde_json::from_slice(&seen.snapshot.clone().unwrap()).unwrap();
            found.extend(numbers(&seen));
            let mut distinct = found.clone();
            distinct.dedup();
            assert_eq!(found, distinct, "{what}: nothing is there twice");
            assert!(found.is_sorted(), "{what}: all is in order: {found:?}");
            assert!(
                acknowledged.iter().all(|number| found.contains(number)),
                "{what}: {acknowledged:?} {found:?}"
            );
            assert!(seen.head.generation >= Generation(2), "{what}");
            if disturbed.is_ok() {
                assert_eq!(seen.head.generation, Generation(3), "{what}: each commit counts once");
            }
            (failed, lives) = (failed + usize::from(disturbed.is_err()), lives + 1);
        }
    }
    println!("{lives} lives, each with one request of {requests} that failed; {failed} ended early");
}
