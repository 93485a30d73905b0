//! Deletes, and what comes after a crash.

use std::sync::{Arc, Mutex, PoisonError};

use slipway_resource::ErrorClass;
use slipway_resource::provider::{Action, ApplyEvent, Discovery, EventSink, Resolution, ResumeRequest};

use crate::bench::{Bench, Made, count};
use crate::scenario::Ready;
use crate::stop::{Checked, Stop, ensure, fail};

fn deletion(bench: &Bench<'_>, sample: &Ready, made: &Made) -> slipway_resource::provider::ApplyRequest {
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

pub(crate) async fn resume(bench: &mut Bench<'_>) -> Checked {
    let (slow, takes) = bench.slow()?;
    bench.make_needed(&slow.attributes).await?;
    let (request, planned, asked) = bench.creation(&slow).await?;
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let events = Arc::clone(&events);
        EventSink::new(move |event| events.lock().unwrap_or_else(PoisonError::into_inner).push(event))
    };
    let session = Arc::clone(&bench.session);
    let sent = request.clone();
    let waiting = tokio::spawn(async move { session.apply(sent, sink).await });
    tokio::time::sleep(takes / 2).await;
    bench.restart().await?;
    let outcome = waiting.await.map_err(|error| Stop::Skip(error.to_string()))?;
    match &outcome {
        Err(error) if error.class == ErrorClass::OutcomeUnknown => {}
        Err(error) => return fail(format!("the death of the provider was told as {}", error.class)),
        Ok(_) => return fail("the slow sample was made in half of its time"),
    }
    let seen = events.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
        // Allowed, though of little help; what is there is found by its tags.
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
