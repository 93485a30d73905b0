//! Runs one step: open its secrets, check, journal, call, retry, journal. Knows nothing of the other steps.

mod open;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use slipway_plan::StepId;
use slipway_resource::provider::{
    Action, Applied, ApplyEvent, ApplyRequest, EventSink, Resolution, ResumeRequest,
};
use slipway_resource::{Address, ClusterUid, ErrorClass, Identity, ProviderError, Schema, Session};
use slipway_secrets::FingerprintKey;
use slipway_state_store::{Error as StoreError, Journal};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::Span;
use tracing::field::display;

use crate::event::{Event, EventHandler};
use crate::journal::{Begin, Effect, End, EndResult, Entry};
use crate::pace::Pace;
use crate::preconditions::{self, Expectation, Reader, Verdict};
use crate::promise;
use crate::retry::Backoff;
use crate::secrets::{Kept, SecretSource};
use crate::stop::Stop;
use crate::trace;

/// The data that all steps of a run share.
pub(crate) struct Shared {
    pub journal: Journal,
    pub events: EventHandler,
    pub backoff: Backoff,
    pub pace: Mutex<Pace>,
    pub stop: watch::Receiver<Stop>,
    /// The cluster's unique id.
    pub uid: ClusterUid,
    /// The source of the texts of secrets.
    pub secrets: Arc<dyn SecretSource>,
    /// The cluster's key for fingerprints, when there are secrets.
    pub fingerprints: Option<FingerprintKey>,
}

/// One step, ready to run.
pub(crate) struct Unit {
    pub id: StepId,
    pub address: Address,
    pub rate_class: String,
    pub provider: String,
    pub schema: Arc<Schema>,
    pub effect: Effect,
    /// The objects of the cluster that keep texts of secrets which the step needs; none of a step that needs no text.
    pub secrets: Option<Kept>,
    /// The call; none for a step that touches the state only.
    pub call: Option<Call>,
}

/// The call of a step.
pub(crate) struct Call {
    pub session: Arc<dyn Session>,
    pub request: ApplyRequest,
    /// The check before the call.
    pub expectation: Option<(Reader, Identity, Expectation)>,
    /// Whether the object's identity is journaled as soon as it is known, because neither token nor tags
    /// would find the object again.
    pub keep_identity: bool,
    /// Whether the call may wait for a machine or for the API of a cluster. Such a call is cancelled two
    /// seconds after the run receives the stop signal.
    pub waits: bool,
}

/// How a step ended.
pub(crate) struct Finished {
    pub id: StepId,
    pub effect: Effect,
    pub elapsed: Duration,
    pub result: Result<(Applied, EndResult), Failure>,
}

/// Why a step failed.
pub(crate) enum Failure {
    /// Its provider reports the failure; independent steps continue.
    Provider(Box<ProviderError>),
    /// The journal could not be written; the run ends.
    Store(Box<StoreError>),
    /// The run was stopped before the step began, or while it waited: then its outcome is not known.
    Stopped { begun: bool },
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self::Provider(Box::new(error))
    }
}

/// Runs a step to its end.
pub(crate) async fn run(mut unit: Unit, shared: Arc<Shared>) -> Finished {
    let (begun, id) = (Instant::now(), unit.id);
    if let Some(kept) = unit.secrets.take() {
        unit = match open::open(unit, kept, &shared).await {
            Ok(unit) => unit,
            // Nothing has begun.
            Err(failure) => {
                let result = Err(failure.into());
                return Finished { id, effect: Effect::None, elapsed: begun.elapsed(), result };
            }
        };
    }
    let effect = unit.effect.clone();
    let result = attempt(unit, &shared).await;
    if let Err(Failure::Provider(error)) = &result {
        Span::current().record(trace::ERROR, display(&error.class));
    }
    Finished { id, effect, elapsed: begun.elapsed(), result }
}

async fn attempt(unit: Unit, shared: &Shared) -> Result<(Applied, EndResult), Failure> {
    let Unit { id, address, rate_class, provider, schema, effect, call, secrets: _ } = unit;
    let mut gone = false;
    if let Some(Call { expectation: Some((reader, identity, expectation)), request, .. }) = &call {
        let deletes = matches!(request.action, Action::Delete { .. });
        let before = match &request.action {
            Action::Update { prior, .. } => Some(prior),
            _ => None,
        };
        let checked = tokio::select! {
            biased;
            checked = preconditions::check(reader, &address, identity, expectation, before) => checked?,
            // The step does not wait for a machine that does not answer.
            () = stop_raised(shared) => return Err(Failure::Stopped { begun: false }),
        };
        match checked {
            Verdict::Holds => {}
            Verdict::Gone if deletes => gone = true,
            Verdict::Gone => {
                let text = format!("{address} ({identity}) is gone since the plan was made");
                return Err(ProviderError::new(ErrorClass::PreconditionFailed, text)
                    .with_address(&address)
                    .with_hint("run `slipway plan` again and review what changed")
                    .into());
            }
        }
    }
    let request = call.as_ref().filter(|_| !gone).map(|call| call.request.clone());
    let sent = request.as_ref().map(|request| request.action.clone());
    let begin = Begin { step: id, provider: provider.clone(), request, effect: effect.clone() };
    append(shared, &Entry::Begin(Box::new(begin))).await?;
    let result = match call {
        Some(call) if !gone => match deliver(id, &rate_class, &call, shared).await {
            Ok((applied, announced)) => {
                let kind = schema.types.get(address.kind());
                promise::held(&provider, kind, &call, announced.as_ref(), &applied).await.map(|()| applied)
            }
            Err(failure) => Err(failure),
        },
        _ => Ok(Applied::default()),
    };
    let end = match &result {
        Ok(applied) => EndResult::done(applied, &schema, address.kind(), sent.as_ref(), &effect),
        Err(Failure::Provider(error)) => EndResult::Failed {
            class: error.class.clone(),
            message: error.message.clone(),
            identity: error.identity.clone(),
        },
        Err(Failure::Store(_) | Failure::Stopped { .. }) => {
            return result.map(|applied| (applied, EndResult::NotDone));
        }
    };
    if let EndResult::Done { as_found, .. } = &end
        && !as_found.is_empty()
    {
        let paths: Vec<String> = as_found.keys().map(ToString::to_string).collect();
        let text = format!("{address} does not show {} as set: left as found", paths.join(", "));
        tracing::warn!("{text}");
        shared.events.send(Event::Progress(id, text));
    }
    append(shared, &Entry::End(End { step: id, result: end.clone() })).await?;
    result.map(|applied| (applied, end))
}

async fn append(shared: &Shared, entry: &Entry) -> Result<(), Failure> {
    let bytes = entry.to_bytes().map_err(|error| {
        ProviderError::new(ErrorClass::Permanent, format!("the journal entry cannot be written: {error}"))
    })?;
    Ok(shared.journal.append(vec![bytes]).await?)
}

/// Sends the call until it has a final answer. Returns it with the identity that the provider announced
/// before.
async fn deliver(
    id: StepId,
    rate_class: &str,
    call: &Call,
    shared: &Shared,
) -> Result<(Applied, Option<Identity>), Failure> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        // No call is sent when another holder may have taken over.
        shared.journal.valid().await?;
        shared.events.send(Event::Started(id));
        tracing::debug!(address = %call.request.ownership.address, token = %call.request.token, attempt, "call");
        let mut seen = Seen::default();
        let error = match send(id, call, shared, &mut seen).await? {
            Ok(applied) => return Ok((applied, seen.identity)),
            Err(error) => error,
        };
        let error = match (&error.class, &call.request.action) {
            (ErrorClass::NotFound, Action::Delete { .. }) => return Ok((Applied::default(), None)),
            (ErrorClass::OutcomeUnknown, _) => match resolve(call, &seen, shared).await? {
                Resolution::Done(applied) => return Ok((applied, seen.identity)),
                Resolution::NotDone if attempt < shared.backoff.attempts => continue,
                Resolution::NotDone => ProviderError { class: ErrorClass::Transient, ..error },
                Resolution::Unknown => error,
            },
            _ => error,
        };
        let stopping = *shared.stop.borrow() != Stop::No;
        let salt = u64::from(id.0).wrapping_mul(0x0100_0000_01b3);
        let Some(delay) = shared.backoff.delay(attempt, &error, salt).filter(|_| !stopping) else {
            return Err(error.into());
        };
        if let ErrorClass::Throttled { rate_class: named, .. } = &error.class {
            let class = if named.is_empty() { rate_class } else { named.as_str() };
            shared.pace.lock().unwrap_or_else(PoisonError::into_inner).hold(class, Instant::now() + delay);
        }
        tracing::info!(step = %id, attempt, error = %error, delay = ?delay, "again");
        shared.events.send(Event::Retrying { step: id, error: error.clone(), delay });
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = stop_raised(shared) => return Err(error.into()),
        }
    }
}

/// Waits for the stop signal.
async fn stop_raised(shared: &Shared) {
    if shared.stop.clone().wait_for(|stop| *stop != Stop::No).await.is_err() {
        // Every sender is dropped: no stop signal can arrive.
        std::future::pending::<()>().await;
    }
}

/// How long a waiting call continues after the stop signal, and how long its provider then has to end it.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Seen {
    identity: Option<Identity>,
    handle: Option<String>,
}

/// Sends the call once, and journals what is needed to find it again.
async fn send(
    id: StepId,
    call: &Call,
    shared: &Shared,
    seen: &mut Seen,
) -> Result<Result<Applied, ProviderError>, Failure> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let sink = EventSink::new(move |event| {
        // The receiver lives as long as the call.
        let _ = sender.send(event);
    });
    let answer = call.session.apply(call.request.clone(), sink);
    let left = left_waiting(call, shared);
    tokio::pin!(answer, left);
    loop {
        tokio::select! {
            biased;
            Some(event) = receiver.recv() => match event {
                ApplyEvent::Started => {}
                ApplyEvent::Progress(text) => shared.events.send(Event::Progress(id, text)),
                ApplyEvent::Identity(identity) => {
                    if call.keep_identity {
                        append(shared, &Entry::Identity { step: id, identity: identity.clone() }).await?;
                    }
                    seen.identity = Some(identity);
                }
                ApplyEvent::Handle(handle) => {
                    append(shared, &Entry::Handle { step: id, handle: handle.clone() }).await?;
                    seen.handle = Some(handle);
                }
            },
            result = &mut answer => return Ok(result),
            () = &mut left => return Err(Failure::Stopped { begun: true }),
        }
    }
}

/// Cancels a waiting call soon after the stop signal. Ends also when the provider does not end the call: the
/// next run finds its outcome.
async fn left_waiting(call: &Call, shared: &Shared) {
    if !call.waits {
        std::future::pending::<()>().await;
    }
    stop_raised(shared).await;
    tokio::time::sleep(GRACE).await;
    let cancelled = call.session.cancel(Some(call.request.token.clone()));
    let end = Instant::now() + GRACE;
    match tokio::time::timeout_at(end, cancelled).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a call that waits was not cancelled"),
        Err(_) => tracing::debug!("a call that waits was not cancelled in time"),
    }
    tokio::time::sleep_until(end).await;
}

/// Finds the outcome of a call whose answer was lost.
async fn resolve(call: &Call, seen: &Seen, shared: &Shared) -> Result<Resolution, Failure> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        shared.journal.valid().await?;
        let request = ResumeRequest {
            request: call.request.clone(),
            identity: seen.identity.clone(),
            handle: seen.handle.clone(),
            superseded: false,
        };
        match call.session.resume(request, EventSink::discard()).await {
            Ok(resolution) => return Ok(resolution),
            Err(error) => match shared.backoff.delay(attempt, &error, u64::from(attempt)) {
                Some(delay) => tokio::time::sleep(delay).await,
                None => return Ok(Resolution::Unknown),
            },
        }
    }
}

#[cfg(test)]
mod tests;
