//! Shared parts of the tests: names, claims, separate clocks.

use std::sync::Arc;
use std::time::Duration;

use slipway_state_store::clock::ManualClock;
use slipway_state_store::{
    Acquire, Backend, ClusterName, CommitMeta, Error, Holder, Identity, Options, Retry, View, read,
};

pub fn cluster() -> ClusterName {
    ClusterName::new("prod.example.com").unwrap()
}

/// The usual term, without waiting before what did not get through is sent again.
pub fn options() -> Options {
    Options { retry: Retry { attempts: 50, first_wait: Duration::ZERO }, ..Options::default() }
}

pub fn acquire(who: &str) -> Acquire {
    let create = "uid-1".parse().unwrap();
    Acquire::new(Identity::current(who, "apply")).create(create).options(options())
}

/// A holder with a separate clock that does not move, like a paused process.
pub async fn holder(backend: &Arc<dyn Backend>, acquire: Acquire) -> (Holder, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new());
    (Holder::acquire(backend.clone(), &cluster(), acquire, clock.clone()).await.unwrap(), clock)
}

/// Takes over from a silent holder, after a term on the contender's own clock.
pub async fn take_over(backend: &Arc<dyn Backend>, who: &str) -> Result<(Holder, Arc<ManualClock>), Error> {
    let clock = Arc::new(ManualClock::new());
    let acquire = acquire(who).wait(Duration::from_secs(3_600));
    let contender = tokio::spawn({
        let (backend, clock) = (backend.clone(), clock.clone());
        async move { Holder::acquire(backend, &cluster(), acquire, clock).await }
    });
    while !contender.is_finished() {
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    Ok((contender.await.unwrap()?, clock))
}

pub fn record(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

pub fn meta(operation: &str) -> CommitMeta {
    CommitMeta { operation: operation.into(), ..CommitMeta::default() }
}

pub async fn view(backend: &Arc<dyn Backend>) -> View {
    read(&**backend, &cluster()).await.unwrap().unwrap()
}

/// The records of a view, which are numbers.
pub fn numbers(view: &View) -> Vec<u64> {
    view.records.iter().map(|record| std::str::from_utf8(&record.value).unwrap().parse().unwrap()).collect()
}
