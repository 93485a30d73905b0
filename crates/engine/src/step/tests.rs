use std::collections::BTreeMap;

use slipway_resource::provider::RateClass;
use slipway_resource::{ClusterUid, Ownership, Token, Value};
use slipway_state_store::{Acquire, ClusterName, Holder, Identity as Person, MemoryBackend, SystemClock};

use super::*;
use crate::scripted::{Scripted, record, thing, things};

type Told = Arc<Mutex<Vec<String>>>;

/// A hold on a cluster of its own.
async fn holder() -> Holder {
    let name = ClusterName::new("a").unwrap();
    let uid = slipway_state_store::ClusterUid::random().unwrap();
    let acquire = Acquire::new(Person::current("test", "apply")).create(uid);
    Holder::acquire(Arc::new(MemoryBackend::new()), &name, acquire, Arc::new(SystemClock)).await.unwrap()
}

fn shared(holder: &Holder, stop: &watch::Sender<Stop>) -> (Arc<Shared>, Told) {
    let told: Told = Arc::default();
    let log = Arc::clone(&told);
    let events = EventHandler::new(move |event| {
        let text = match event {
            Event::Started(_) => "started".to_owned(),
            Event::Progress(_, text) => text,
            Event::Retrying { error, .. } => format!("again: {}", error.class),
            _ => return,
        };
        log.lock().unwrap().push(text);
    });
    let class = RateClass { concurrency: 8, per_second: None };
    let shared = Shared {
        journal: holder.journal().clone(),
        events,
        backoff: Backoff { base: Duration::from_millis(1), longest: Duration::from_millis(2), attempts: 3 },
        pace: Mutex::new(Pace::new(&BTreeMap::from([("calls".to_owned(), class)]))),
        stop: stop.subscribe(),
        uid: ClusterUid::new("u"),
        secrets: Arc::new(crate::secrets::NoSecrets),
        fingerprints: None,
    };
    (Arc::new(shared), told)
}

fn unit(session: Scripted, action: Action) -> Unit {
    let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "a".to_owned(), address: thing("a") };
    let request = ApplyRequest { token: Token::new("t"), ownership, action, timeout_ms: 60_000 };
    Unit {
        id: StepId(0),
        address: thing("a"),
        rate_class: "calls".to_owned(),
        provider: "cloud".to_owned(),
        schema: Arc::new(things()),
        effect: Effect::Put { address: thing("a"), record: Box::new(record()), previous: None },
        secrets: None,
        call: Some(Call {
            session: Arc::new(session),
            request,
            expectation: None,
            keep_identity: true,
            waits: true,
        }),
    }
}

fn create() -> Action {
    Action::Create { desired: Value::map([("name", "a")]) }
}

fn made() -> Applied {
    Applied::new(Identity::new("t-1"), Value::map([("name", "a")]))
}

/// Answers each call with the next of these; the last one again and again.
fn answers(answers: Vec<Result<Applied, ProviderError>>) -> (Scripted, Arc<Mutex<usize>>) {
    let calls = Arc::new(Mutex::new(0));
    let count = Arc::clone(&calls);
    let scripted = Scripted::default().on_apply(move |_, _| {
        let mut count = count.lock().unwrap();
        *count += 1;
        let answer = answers.get(*count - 1).or(answers.last()).cloned().unwrap();
        async move { answer }
    });
    (scripted, calls)
}

fn failure(class: ErrorClass) -> Result<Applied, ProviderError> {
    Err(ProviderError::new(class, "no"))
}

/// How a step ends: the class of its failure, if it failed.
async fn ended(session: Scripted, action: Action) -> (Option<ErrorClass>, Vec<String>, Finished) {
    let holder = holder().await;
    let stop = watch::Sender::new(Stop::No);
    let (shared, told) = shared(&holder, &stop);
    let finished = run(unit(session, action), shared).await;
    let class = match &finished.result {
        Ok(_) => None,
        Err(Failure::Provider(error)) => Some(error.class.clone()),
        Err(Failure::Store(error)) => panic!("{error}"),
        Err(Failure::Stopped { .. }) => panic!("nobody told it to stop"),
    };
    holder.close().await;
    let told = told.lock().unwrap().clone();
    (class, told, finished)
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_nothing_else() {
    let throttled = ErrorClass::Throttled { rate_class: "calls".to_owned(), retry_after_ms: Some(3) };
    for class in [ErrorClass::Transient, throttled] {
        let (session, calls) = answers(vec![failure(class.clone()), Ok(made())]);
        let (ended, told, _) = ended(session, create()).await;
        assert_eq!(ended, None, "{class}");
        assert_eq!(told, ["started".to_owned(), format!("again: {class}"), "started".to_owned()]);
        assert_eq!(*calls.lock().unwrap(), 2);
    }
    for class in [
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
    ] {
        let (session, calls) = answers(vec![failure(class.clone())]);
        let (ended, _, _) = ended(session, create()).await;
        assert_eq!((ended, *calls.lock().unwrap()), (Some(class), 1));
    }
}

#[tokio::test]
async fn trying_again_ends() {
    let (session, calls) = answers(vec![failure(ErrorClass::Transient)]);
    let (ended, _, _) = ended(session, create()).await;
    assert_eq!((ended, *calls.lock().unwrap()), (Some(ErrorClass::Transient), 3));
}

#[tokio::test]
async fn a_run_that_is_to_stop_tries_nothing_again() {
    let (session, calls) = answers(vec![failure(ErrorClass::Transient)]);
    let holder = holder().await;
    let stop = watch::Sender::new(Stop::Finish);
    let (shared, _) = shared(&holder, &stop);
    let finished = run(unit(session, create()), shared).await;
    assert!(matches!(finished.result, Err(Failure::Provider(error)) if error.class == ErrorClass::Transient));
    assert_eq!(*calls.lock().unwrap(), 1);
    holder.close().await;
}

/// The end of a step that is stopped after its provider has sent an event, and the time until then.
async fn stopped(session: Scripted) -> (Finished, Duration) {
    let holder = holder().await;
    let stop = Arc::new(watch::Sender::new(Stop::No));
    let (shared, told) = shared(&holder, &stop);
    let raise = async {
        while told.lock().unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stop.send_replace(Stop::Finish);
        Instant::now()
    };
    let (finished, raised) = tokio::join!(run(unit(session, create()), shared.clone()), raise);
    let after = raised.elapsed();
    holder.close().await;
    (finished, after)
}

#[tokio::test]
async fn a_call_that_waits_is_cancelled_soon_after_the_run_is_told_to_stop() {
    let cancelled = Arc::new(tokio::sync::Notify::new());
    let heard = cancelled.clone();
    let polite = Scripted::default()
        .on_apply(move |_, events| {
            events.send(ApplyEvent::Progress("waiting".to_owned()));
            let heard = heard.clone();
            async move {
                heard.notified().await;
                failure(ErrorClass::Cancelled)
            }
        })
        .on_cancel(move || cancelled.notify_one());
    let (finished, after) = stopped(polite).await;
    let Err(Failure::Provider(error)) = finished.result else { panic!("it ended otherwise") };
    assert_eq!(error.class, ErrorClass::Cancelled);
    assert!(after < 2 * GRACE, "{after:?}");

    // One that does not end is left to the next run.
    let deaf = Scripted::default().on_apply(|_, events| {
        events.send(ApplyEvent::Progress("waiting".to_owned()));
        std::future::pending()
    });
    let (finished, after) = stopped(deaf).await;
    assert!(matches!(finished.result, Err(Failure::Stopped { begun: true })));
    assert!(after < 3 * GRACE, "{after:?}");
}

#[tokio::test]
async fn a_pause_before_another_attempt_ends_when_the_run_is_told_to_stop() {
    let throttled = ErrorClass::Throttled { rate_class: "calls".to_owned(), retry_after_ms: Some(60_000) };
    let (session, _) = answers(vec![failure(throttled.clone())]);
    let (finished, after) = stopped(session).await;
    assert!(matches!(finished.result, Err(Failure::Provider(error)) if error.class == throttled));
    assert!(after < GRACE, "{after:?}");
}

#[tokio::test]
async fn a_lost_answer_is_found_out() {
    for (resolution, expected, sent) in [
        (Ok(Resolution::Done(made())), None, 1),
        (Ok(Resolution::NotDone), Some(ErrorClass::Transient), 3),
        (Ok(Resolution::Unknown), Some(ErrorClass::OutcomeUnknown), 1),
        (Err(ProviderError::new(ErrorClass::Permanent, "no")), Some(ErrorClass::OutcomeUnknown), 1),
    ] {
        let (session, calls) = answers(vec![failure(ErrorClass::OutcomeUnknown)]);
        let session = session.on_resume(move |_| resolution.clone());
        let (ended, _, _) = ended(session, create()).await;
        assert_eq!((ended, *calls.lock().unwrap()), (expected, sent));
    }
}

#[tokio::test]
async fn a_lost_answer_is_found_out_by_what_was_told_before() {
    let asked: Arc<Mutex<Option<ResumeRequest>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let session = Scripted::default()
        .on_apply(|_, events| {
            events.send(ApplyEvent::Identity(Identity::new("t-1")));
            events.send(ApplyEvent::Handle("h".to_owned()));
            async {
                tokio::task::yield_now().await;
                failure(ErrorClass::OutcomeUnknown)
            }
        })
        .on_resume(move |request| {
            *seen.lock().unwrap() = Some(request);
            Ok(Resolution::Done(made()))
        });
    assert_eq!(ended(session, create()).await.0, None);
    let request = asked.lock().unwrap().clone().unwrap();
    assert_eq!((request.identity, request.handle), (Some(Identity::new("t-1")), Some("h".to_owned())));
}

#[tokio::test]
async fn a_delete_of_what_is_gone_is_done() {
    let (session, _) = answers(vec![failure(ErrorClass::NotFound)]);
    let delete = Action::Delete { identity: Identity::new("t-1") };
    assert_eq!(ended(session, delete).await.0, None);
}

#[tokio::test]
async fn what_does_not_keep_the_plan_is_not_done_and_is_remembered() {
    let other = Applied::new(Identity::new("t-1"), Value::map([("name", "b")]));
    let (session, _) = answers(vec![Ok(other)]);
    let (class, _, finished) = ended(session, create()).await;
    assert_eq!(class, Some(ErrorClass::Permanent));
    let Err(Failure::Provider(error)) = finished.result else { panic!("done") };
    assert_eq!(
        error.message,
        "provider cloud broke the contract: thing.a is reported as done, but name is \"b\" where the plan has \"a\"; \
         the step counts as failed"
    );
    assert_eq!(error.identity, Some(Identity::new("t-1")));
}
