//! Actions that leave an object.

use std::sync::Arc;
use std::time::Duration;

use slipway_resource::diff::diff;
use slipway_resource::provider::{Action, ApplyEvent, EventSink};
use slipway_resource::{Address, ErrorClass, Mode, Observation, Path, Token, Value};
use tokio::sync::Notify;

use crate::bench::{Bench, count, without_unknown};
use crate::stop::{Checked, Stop, ensure, fail, skip};

fn is_present(observation: &Observation) -> bool {
    matches!(observation, Observation::Present(_))
}

/// The differences that the engine would see, as a sentence.
fn differences(
    bench: &Bench<'_>,
    address: &Address,
    observed: &Value,
    wanted: &Value,
    asked: &Value,
) -> Result<Option<String>, Stop> {
    let wanted = without_unknown(wanted);
    let changes = diff(bench.kind(address)?, observed, &wanted, Some(asked));
    let shown = changes.iter().filter(|change| !change.after.is_null() || !change.before.is_null());
    let shown: Vec<String> = shown
        .map(|change| {
            format!("{} is {} and should be {}", change.path, change.before.to_json(), change.after.to_json())
        })
        .collect();
    Ok((!shown.is_empty()).then(|| shown.join("; ")))
}

pub(crate) async fn apply_as_planned(bench: &mut Bench<'_>) -> Checked {
    for sample in bench.samples()? {
        let address = &sample.address;
        let made = bench.make(&sample).await?;
        let planned = &made.planned.normalised;
        if let Some(text) = differences(bench, address, &made.attributes, planned, &made.asked)? {
            return fail(format!("{address}: Apply did not do as planned: {text}"));
        }
        let agrees = |observation: &Observation| matches!(observation, Observation::Present(value) if *value == made.attributes);
        let read = bench.read(address, &made.identity, agrees).await?;
        let Observation::Present(observed) = &read else {
            return fail(format!("{address}: read as {read:?} after its create"));
        };
        if let Some(text) = differences(bench, address, observed, planned, &made.asked)? {
            return fail(format!("{address}: Read does not find what was planned: {text}"));
        }
        let again = bench
            .plan_one(address, Some(made.asked.clone()), Some(observed.clone()), Some(made.asked.clone()))
            .await?;
        if let Some(text) = differences(bench, address, observed, &again.normalised, &made.asked)? {
            return fail(format!("{address}: planned again, there are changes: {text}"));
        }
    }
    Ok(())
}

pub(crate) async fn identity_early(bench: &mut Bench<'_>) -> Checked {
    let mut samples = bench.samples()?;
    if let Ok((slow, _)) = bench.slow() {
        samples.push(slow);
    }
    for sample in samples {
        let made = bench.make(&sample).await?;
        let announced = ApplyEvent::Identity(made.identity.clone());
        let Some(position) = made.events.iter().position(|event| *event == announced) else {
            return fail(format!("{}: the identity is not announced before the end", sample.address));
        };
        let waits = |event: &ApplyEvent| matches!(event, ApplyEvent::Progress(_) | ApplyEvent::Handle(_));
        let waited = made.events.iter().take(position).any(waits);
        ensure(!waited, || format!("{}: something is told before the identity", sample.address))?;
    }
    Ok(())
}

pub(crate) async fn token_once(bench: &mut Bench<'_>) -> Checked {
    let mut proved = false;
    for sample in bench.samples()? {
        if !bench.kind(&sample.address)?.idempotent_create {
            continue;
        }
        proved = true;
        let made = bench.make(&sample).await?;
        let again = bench.apply(made.request.clone()).await.0?;
        ensure(again.identity.as_ref() == Some(&made.identity), || {
            format!("{}: the same token has made two objects", sample.address)
        })?;
        let found = bench.discover(|discovery| count(discovery, &sample.address) == 1).await?;
        let count = count(&found, &sample.address);
        ensure(count < 2, || format!("{}: the same token has made {count} objects", sample.address))?;
    }
    if proved { Ok(()) } else { skip("no sample's type takes a token") }
}

pub(crate) async fn update(bench: &mut Bench<'_>) -> Checked {
    let mut proved = false;
    for sample in bench.samples()? {
        let Some(mutation) = &sample.mutation else {
            continue;
        };
        proved = true;
        let address = &sample.address;
        let made = bench.make(&sample).await?;
        let Observation::Present(prior) = bench.read(address, &made.identity, is_present).await? else {
            return fail(format!("{address}: cannot be read after its create"));
        };
        let wanted = bench.resolve(mutation);
        let planned = bench
            .plan_one(address, Some(wanted.clone()), Some(prior.clone()), Some(made.asked.clone()))
            .await?;
        ensure(planned.replace_paths.is_empty(), || {
            format!("{address}: the scenario's mutation needs a new object")
        })?;
        let action = Action::Update {
            identity: made.identity.clone(),
            prior,
            desired: without_unknown(&planned.normalised),
        };
        let applied = bench.apply(bench.request(address, action)).await.0?;
        ensure(applied.identity.is_none() || applied.identity.as_ref() == Some(&made.identity), || {
            format!("{address}: its identity has changed")
        })?;
        let agrees = |observation: &Observation| match observation {
            Observation::Present(value) => {
                matches!(differences(bench, address, value, &planned.normalised, &wanted), Ok(None))
            }
            _ => false,
        };
        let Observation::Present(now) = bench.read(address, &made.identity, agrees).await? else {
            return fail(format!("{address}: cannot be read after its update"));
        };
        if let Some(text) = differences(bench, address, &now, &planned.normalised, &wanted)? {
            return fail(format!("{address}: after the update {text}"));
        }
    }
    if proved { Ok(()) } else { skip("the scenario has no mutation") }
}

pub(crate) async fn tag(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    let moved = Address::new(sample.address.kind(), format!("{}-moved", sample.address.name()));
    let action = Action::Tag { identity: made.identity.clone() };
    bench.apply(bench.request(&moved, action)).await.0?;
    let is_moved = |discovery: &slipway_resource::provider::Discovery| {
        count(discovery, &moved) == 1 && count(discovery, &sample.address) == 0
    };
    let found = bench.discover(is_moved).await?;
    ensure(is_moved(&found), || format!("{} is not discovered as {moved}", sample.address))?;
    let read = bench.read(&moved, &made.identity, is_present).await?;
    ensure(is_present(&read), || format!("{moved} is read as {read:?}"))
}

pub(crate) async fn operations(bench: &mut Bench<'_>) -> Checked {
    let mut proved = false;
    for sample in bench.samples()? {
        let Some((name, arguments)) = &sample.operation else {
            continue;
        };
        proved = true;
        ensure(bench.kind(&sample.address)?.operations.contains_key(name), || {
            format!("{}: operation {name} is not in the schema", sample.address)
        })?;
        let made = bench.make(&sample).await?;
        let action = Action::Operation {
            identity: made.identity.clone(),
            name: name.clone(),
            arguments: bench.resolve(arguments),
        };
        bench.apply(bench.request(&sample.address, action)).await.0?;
    }
    if proved { Ok(()) } else { skip("the scenario has no operation") }
}

pub(crate) async fn side_by_side(bench: &mut Bench<'_>) -> Checked {
    let (slow, _) = bench.slow()?;
    bench.make_needed(&slow.attributes).await?;
    let (request, _, _) = bench.creation(&slow).await?;
    let begun = Arc::new(Notify::new());
    let sink = {
        let begun = Arc::clone(&begun);
        EventSink::new(move |_| begun.notify_one())
    };
    let session = Arc::clone(&bench.session);
    let waiting = tokio::spawn(async move { session.apply(request, sink).await });
    begun.notified().await;
    let quick = bench.bulk(1)?;
    bench.make(&quick).await?;
    let was_first = !waiting.is_finished();
    let outcome = waiting.await.map_err(|error| Stop::Skip(error.to_string()))?;
    outcome?;
    ensure(was_first, || "a quick action ended after a slow one that had begun before".to_owned())
}

pub(crate) async fn cancel(bench: &mut Bench<'_>) -> Checked {
    bench.session.cancel(Some(Token::new("never-sent"))).await?;
    let (slow, takes) = bench.slow()?;
    bench.make_needed(&slow.attributes).await?;
    let (request, _, _) = bench.creation(&slow).await?;
    let token = request.token.clone();
    let begun = Arc::new(Notify::new());
    let sink = {
        let begun = Arc::clone(&begun);
        EventSink::new(move |event| {
            if matches!(event, ApplyEvent::Identity(_) | ApplyEvent::Handle(_) | ApplyEvent::Progress(_)) {
                begun.notify_one();
            }
        })
    };
    let session = Arc::clone(&bench.session);
    let waiting = tokio::spawn(async move { session.apply(request, sink).await });
    // With or without events, the action is assumed to run after a while.
    let _ = tokio::time::timeout(takes / 4, begun.notified()).await;
    bench.session.cancel(Some(token)).await?;
    let Ok(outcome) = tokio::time::timeout(takes * 2 / 3, waiting).await else {
        return fail(format!("a cancelled action still runs after {} ms", (takes * 2 / 3).as_millis()));
    };
    let outcome = outcome.map_err(|error| Stop::Skip(error.to_string()))?;
    let is_settled = |discovery: &slipway_resource::provider::Discovery| {
        (count(discovery, &slow.address) == 1) == outcome.is_ok()
    };
    let found = bench.discover(is_settled).await?;
    match outcome {
        Ok(_) => ensure(count(&found, &slow.address) == 1, || "it is done, and not there".to_owned()),
        Err(error) if error.class == ErrorClass::Cancelled => {
            // Cancelled means without effect, unless the error names what is left.
            let is_told = error.identity.is_some();
            ensure(is_told || count(&found, &slow.address) == 0, || {
                "it is cancelled, and there all the same".to_owned()
            })
        }
        Err(error) => fail(format!("a cancelled action ends as {}: {error}", error.class)),
    }
}

pub(crate) async fn refuses_unknown(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    let action = Action::Operation {
        identity: made.identity.clone(),
        name: "operation-that-nobody-has".to_owned(),
        arguments: Value::Null,
    };
    let operation = bench.request(&sample.address, action);
    let action = Action::Create { desired: Value::map::<&str, Value>([]) };
    let kind = bench.request(&Address::new("type_that_nobody_has", "a"), action);
    for (what, request) in [("operation", operation), ("type", kind)] {
        match bench.apply(request).await.0 {
            Err(error) if error.class == ErrorClass::Invalid => {}
            Err(error) => return fail(format!("an unknown {what} is refused as {}", error.class)),
            Ok(_) => return fail(format!("an unknown {what} is accepted")),
        }
    }
    Ok(())
}

pub(crate) async fn invalid_attributes(bench: &mut Bench<'_>) -> Checked {
    let mut proved = false;
    for sample in bench.samples()? {
        let required = bench.kind(&sample.address)?.attributes.iter();
        let required = required.filter(|(_, attribute)| attribute.mode == Mode::Required);
        let Some(name) = required.map(|(name, _)| name.clone()).next() else {
            continue;
        };
        proved = true;
        bench.make_needed(&sample.attributes).await?;
        let mut desired = bench.resolve(&sample.attributes);
        desired.set(&Path::key(name.as_str()), Value::Null);
        let request = bench.request(&sample.address, Action::Create { desired });
        match bench.apply(request).await.0 {
            Err(error) if error.class == ErrorClass::Invalid => {}
            Err(error) => {
                return fail(format!("{} without {name} is refused as {}", sample.address, error.class));
            }
            Ok(_) => return fail(format!("{} without {name} is made", sample.address)),
        }
        let found = bench.discover(|_| true).await?;
        // A sample that others needed exists already.
        if !bench.is_made(&sample.address) {
            ensure(count(&found, &sample.address) == 0, || {
                format!("{} was refused, and is there", sample.address)
            })?;
        }
    }
    if proved { Ok(()) } else { skip("no sample has a required attribute") }
}

pub(crate) async fn tells_progress(bench: &mut Bench<'_>) -> Checked {
    let (slow, _) = bench.slow()?;
    let made = tokio::time::timeout(Duration::from_secs(120), bench.make(&slow)).await;
    let made = made.unwrap_or_else(|_| fail("the slow sample is not made within two minutes"))?;
    let tells = |event: &ApplyEvent| matches!(event, ApplyEvent::Progress(_) | ApplyEvent::Handle(_));
    ensure(made.events.iter().any(tells), || format!("{} is made without a word in between", slow.address))
}
