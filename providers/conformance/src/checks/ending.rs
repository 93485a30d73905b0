//! Deletes, and what comes after a crash.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use slipway_resource::ErrorClass;
use slipway_resource::provider::{
    Action, ApplyEvent, ApplyRequest, Discovery, EventSink, Resolution, ResumeRequest,
};
use tokio::sync::Notify;

use crate::bench::{Bench, Made, count};
use crate::scenario::Ready;
use crate::stop::{Checked, Stop, ensure, fail};

fn deletion(bench: &Bench<'_>, sample: &Ready, made: &Made) -> ApplyRequest {
    let action = Action::Delete { identity: made.identity.clone() };
    bench.request(&sample.address, action)
}

pub(crate) async fn delete(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    let is_there =
        |discovery: &Discovery| discovery.observed.iter().any(|observed| observed.identity == made.identity);
    bench.discover(is_there).await?;
    bench.apply(deletion(bench, &sample, &made)).await.0?;
    let found = bench.discover(|discovery| !is_there(discovery)).await?;
    ensure(!is_there(&found), || format!("{} was deleted, and is discovered", sample.address))
}

pub(crate) async fn delete_vanished(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    for attempt in ["first", "second"] {
        if let Err(error) = bench.apply(deletion(bench, &sample, &made)).await.0 {
            return fail(format!("the {attempt} delete of {} ends as {}", sample.address, error.class));
        }
    }
    Ok(())
}

/// How often an action may end before its process is killed: the machine may be busy with something else.
const ATTEMPTS: u32 = 5;

/// Begins to make an object and kills its process at the first event. Returns the events; none when it was made before.
async fn interrupted(
    bench: &mut Bench<'_>,
    request: &ApplyRequest,
    takes: Duration,
) -> Result<Option<Vec<ApplyEvent>>, Stop> {
    let (events, begun) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let sink = {
        let (events, begun) = (Arc::clone(&events), Arc::clone(&begun));
        EventSink::new(move |event| {
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            begun.notify_one();
        })
    };
    let fresh = bench.suite.start().await?;
    let session = Arc::clone(&bench.session);
    let sent = request.clone();
    let waiting = tokio::spawn(async move { session.apply(sent, sink).await });
    // An action that reports no event is assumed to run after a while.
    let _ = tokio::time::timeout(takes / 4, begun.notified()).await;
    bench.go_on_with(fresh).await?;
    let outcome = waiting.await.map_err(|error| Stop::Skip(error.to_string()))?;
    let seen = events.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match outcome {
        Err(error) if error.class == ErrorClass::OutcomeUnknown => Ok(Some(seen)),
        Err(error) => fail(format!("the end of the provider's process was reported as {}", error.class)),
        Ok(applied) => {
            let identity = applied.identity.ok_or_else(|| Stop::Fail("it has no identity".to_owned()))?;
            let delete = Action::Delete { identity };
            bench.apply(bench.request(&request.ownership.address, delete)).await.0?;
            Ok(None)
        }
    }
}

pub(crate) async fn resume(bench: &mut Bench<'_>) -> Checked {
    let (slow, takes) = bench.slow()?;
    bench.make_needed(&slow.attributes).await?;
    let mut attempt = 1;
    let (seen, (request, planned, asked)) = loop {
        let creation = bench.creation(&slow).await?;
        match interrupted(bench, &creation.0, takes).await? {
            Some(seen) => break (seen, creation),
            None if attempt < ATTEMPTS => attempt += 1,
            None => {
                return fail(format!("the slow sample was made {ATTEMPTS} times before its process ended"));
            }
        }
    };
    let identity = seen.iter().find_map(|event| match event {
        ApplyEvent::Identity(identity) => Some(identity.clone()),
        _ => None,
    });
    let handle = seen.iter().find_map(|event| match event {
        ApplyEvent::Handle(handle) => Some(handle.clone()),
        _ => None,
    });
    let question = ResumeRequest { request: request.clone(), identity, handle, superseded: false };
    let resolution = bench.session.resume(question, EventSink::discard()).await?;
    let expected = usize::from(matches!(resolution, Resolution::Done(_)));
    let found = bench.discover(|discovery| count(discovery, &slow.address) == expected).await?;
    let number = count(&found, &slow.address);
    let identity = match resolution {
        Resolution::Done(applied) => {
            ensure(number == 1, || format!("Resume says done, and there are {number}"))?;
            applied.identity
        }
        Resolution::NotDone => {
            ensure(number == 0, || format!("Resume says not done, and there are {number}"))?;
            let applied = bench.apply(request.clone()).await.0?;
            let found = bench.discover(|discovery| count(discovery, &slow.address) == 1).await?;
            let number = count(&found, &slow.address);
            ensure(number == 1, || format!("after the second attempt there are {number}"))?;
            applied.identity
        }
        // This is allowed, though of little help: the existing object is found by its tags.
        Resolution::Unknown => found
            .observed
            .iter()
            .find(|observed| observed.address == slow.address)
            .map(|observed| observed.identity.clone()),
    };
    if let Some(identity) = identity {
        bench.keep(Made {
            identity,
            attributes: slipway_resource::Value::Null,
            asked,
            planned,
            events: seen,
            request,
        });
    }
    Ok(())
}

pub(crate) async fn resume_unsent(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let (request, _, _) = bench.creation(&sample).await?;
    let question = ResumeRequest { request, identity: None, handle: None, superseded: false };
    match bench.session.resume(question, EventSink::discard()).await? {
        Resolution::NotDone => Ok(()),
        Resolution::Done(_) => fail("an action that was never sent is called done"),
        Resolution::Unknown => fail("of an action that was never sent nothing is known"),
    }
}
