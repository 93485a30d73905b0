use std::sync::atomic::{AtomicUsize, Ordering};

use slipway_resource::Observation;
use slipway_resource::provider::Unlisted;

use super::*;
use crate::scripted::{Scripted, thing, things};

type Seen = Arc<Mutex<Vec<String>>>;

fn watched(inner: Scripted) -> (WatchedSession, Seen) {
    let seen: Seen = Arc::default();
    let waits = {
        let seen = Arc::clone(&seen);
        WaitHandler::new(move |wait| seen.lock().unwrap().push(wait.to_string()))
    };
    let desk = Desk::new("cloud", Watch { patience: Patience::default(), waits });
    (WatchedSession { desk, inner: Arc::new(inner), schema: Arc::new(things()) }, seen)
}

fn failure(class: ErrorClass) -> ProviderError {
    ProviderError::new(class, "no")
}

fn throttled(after_ms: Option<u64>) -> ProviderError {
    failure(ErrorClass::Throttled { rate_class: "calls".to_owned(), retry_after_ms: after_ms })
}

fn request() -> DiscoverRequest {
    DiscoverRequest { uid: None, cluster: "a".to_owned(), types: Vec::new() }
}

fn reads(names: &[&str]) -> Vec<ReadRequest> {
    let request = |name: &&str| ReadRequest { address: thing(name), identity: Identity::new(*name) };
    names.iter().map(request).collect()
}

fn found(name: &str, observation: Observation) -> Observed {
    Observed { address: thing(name), identity: Identity::new(name), token: None, owner: None, observation }
}

fn present(name: &str) -> Observed {
    found(name, Observation::Present(Value::map([("name", name)])))
}

#[tokio::test(start_paused = true)]
async fn the_end_of_each_call_is_reported() {
    let ends: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    let waits = {
        let ends = Arc::clone(&ends);
        let take = move |provider: &str, is_done| ends.lock().unwrap().push((provider.to_owned(), is_done));
        WaitHandler::discard().with_calls(take)
    };
    let count = AtomicUsize::new(0);
    let inner = Scripted::default().on_discover(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Err(throttled(None)),
        _ => Ok(Discovery::default()),
    });
    let (mut session, _) = watched(inner);
    session.desk.watch.waits = waits;
    session.discover(request()).await.unwrap();
    assert_eq!(*ends.lock().unwrap(), [("cloud".to_owned(), false), ("cloud".to_owned(), true)]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_list_is_repeated_no_sooner_than_the_cloud_says() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let begun = Instant::now();
    let (session, seen) =
        watched(Scripted::default().on_discover(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err(throttled(Some(7_000))),
            _ => Ok(Discovery { observed: vec![present("a")], ..Discovery::default() }),
        }));
    assert_eq!(session.discover(request()).await.unwrap().observed, [present("a")]);
    assert!(begun.elapsed() >= Duration::from_secs(7));
    assert_eq!(
        *seen.lock().unwrap(),
        ["provider cloud could not list what the cluster owns: no (throttled); trying again in 7.0 s"]
    );
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_read_is_repeated() {
    let (session, _) = watched(Scripted::default().first_each(|| failure(ErrorClass::Transient)));
    session.catalog().await.unwrap();
    let cluster = serde_json::Value::Null;
    session.catalog_for(CatalogRequest { cluster, pinned: None }).await.unwrap();
    session.discover(request()).await.unwrap();
    session.read(reads(&["a"])).await.unwrap();
    session.dry_run(Vec::new()).await.unwrap();
    session.nodes().await.unwrap();
    session.preflight(Vec::new()).await.unwrap();
    session.locate(LocateRequest { cluster: "a".to_owned(), items: Vec::new() }).await.unwrap();
    session.import(&thing("a"), &Identity::new("a")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_that_fail_at_once_for_one_reason_are_reported_once() {
    let (session, seen) = watched(Scripted::default().first_each(|| failure(ErrorClass::Transient)));
    let (catalog, nodes) = tokio::join!(session.catalog(), session.nodes());
    assert!(catalog.is_ok() && nodes.is_ok());
    assert_eq!(seen.lock().unwrap().len(), 1, "{seen:?}");
    // The same failure at another time is reported again.
    session.preflight(Vec::new()).await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 2, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_is_not_repeated() {
    let classes = [
        ErrorClass::Invalid,
        ErrorClass::NotFound,
        ErrorClass::Conflict,
        ErrorClass::PreconditionFailed,
        ErrorClass::Quota { name: String::new(), limit: 0, used: 0 },
        ErrorClass::Permission { action: String::new() },
        ErrorClass::Unauthenticated,
        ErrorClass::Permanent,
        ErrorClass::Cancelled,
        ErrorClass::Dependency { blockers: Vec::new() },
        ErrorClass::OutcomeUnknown,
    ];
    for class in classes {
        let calls = Arc::new(AtomicUsize::new(0));
        let (count, error) = (Arc::clone(&calls), failure(class.clone()));
        let (session, seen) = watched(Scripted::default().on_discover(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Err(error.clone())
        }));
        assert_eq!(session.discover(request()).await, Err(failure(class.clone())));
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{class}");
        assert!(seen.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn patience_ends() {
    for (error, longest) in [(failure(ErrorClass::Transient), 15), (throttled(None), 120)] {
        let begun = Instant::now();
        let (session, seen) = watched(Scripted::default().on_discover(move |_| Err(error.clone())));
        let error = session.discover(request()).await.unwrap_err();
        let attempts = seen.lock().unwrap().len() + 1;
        assert!(attempts > 3, "{attempts}");
        assert_eq!(error.message, format!("no (tried {attempts} times)"));
        assert!(begun.elapsed() <= Duration::from_secs(longest));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_wants_more_time_than_there_is_is_not_waited_for() {
    let begun = Instant::now();
    let (session, _) = watched(Scripted::default().on_discover(|_| Err(throttled(Some(3_600_000)))));
    assert_eq!(session.discover(request()).await, Err(throttled(Some(3_600_000))));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn types_that_could_not_be_listed_are_listed_again_and_the_others_kept() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let other = || Observed { address: Address::new("other", "o"), ..present("o") };
    let (session, _) = watched(Scripted::default().on_discover(move |_| {
        let unlisted = |kind: &str| Unlisted { kind: kind.to_owned(), error: throttled(None) };
        Ok(match count.fetch_add(1, Ordering::Relaxed) {
            0 => Discovery {
                observed: vec![other()],
                unlisted: vec![unlisted("thing")],
                ..Discovery::default()
            },
            // Objects that were listed before are kept when their type cannot be listed now.
            _ => Discovery {
                observed: vec![present("a")],
                unlisted: vec![unlisted("other")],
                ..Discovery::default()
            },
        })
    }));
    let discovery = session.discover(request()).await.unwrap();
    assert_eq!(discovery.observed, [other(), present("a")]);
    assert!(discovery.unlisted.is_empty());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn only_the_objects_that_could_not_be_read_are_read_again() {
    let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
    let log = Arc::clone(&asked);
    let (session, _) = watched(Scripted::default().on_read(move |requests| {
        let mut log = log.lock().unwrap();
        log.push(requests.len());
        let first = log.len() == 1;
        Ok(requests
            .iter()
            .map(|request| match request.address.name() {
                "b" if first => found("b", Observation::Unreadable(throttled(None))),
                name => present(name),
            })
            .collect())
    }));
    let answers = session.read(reads(&["a", "b", "c"])).await.unwrap();
    assert_eq!(answers, [present("a"), present("b"), present("c")]);
    assert_eq!(*asked.lock().unwrap(), [3, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_takes_long_to_be_unreadable_is_not_waited_for_twice() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let slow = Scripted::default().on_read(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(vec![found("a", Observation::Unreadable(failure(ErrorClass::Transient)))])
    });
    let (session, seen) = watched(slow.slow(Duration::from_secs(12)));
    session.read(reads(&["a"])).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "provider cloud: waiting for it to read what the cluster owns (5 s)",
            "provider cloud: waiting for it to read what the cluster owns (10 s)"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn one_rate_class_waits_for_all_of_its_calls() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let begun = Instant::now();
    let (session, _) =
        watched(Scripted::default().on_discover(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err(throttled(Some(9_000))),
            _ => Ok(Discovery::default()),
        }));
    let read = async {
        // After the list was refused.
        tokio::time::sleep(Duration::from_secs(1)).await;
        session.read(reads(&["a"])).await.unwrap();
        begun.elapsed()
    };
    let (_, waited) = tokio::join!(session.discover(request()), read);
    assert!(waited >= Duration::from_secs(9), "{waited:?}");
}
