//! Recovery after a crash: the outcome of the steps that were in progress.

use std::sync::Arc;

use slipway_plan::{Providers, StepId};
use slipway_resource::provider::{EventSink, Resolution, ResumeRequest};
use slipway_resource::{Address, ErrorClass, ProviderError, Schema, Session, Token};
use slipway_state_store::Holder;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::error::Error;
use crate::journal::{End, EndResult, Entry, Settled};
use crate::promise;
use crate::replay::OpenStep;
use crate::retry::Backoff;
use crate::state::State;

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// The step.
    pub step: StepId,
    /// The resource; none for a step whose effect touches no resource's record.
    pub address: Option<Address>,
    /// How it ended.
    pub result: EndResult,
}

/// A step whose provider could not say how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    /// The token of its call.
    pub token: Token,
    /// The resource that the call is about.
    pub address: Address,
    /// Its provider.
    pub provider: String,
    /// Why it did not answer.
    pub error: ProviderError,
}

impl Unresolved {
    /// Why no decision is made about the resource.
    fn doubt(&self) -> ProviderError {
        let text = format!(
            "an earlier run was interrupted while it changed this resource, and provider {} cannot tell the result: {}",
            self.provider, self.error
        );
        ProviderError { message: text, identity: None, ..self.error.clone() }
    }
}

/// The step of a question to a provider.
#[derive(Clone, Debug)]
enum Asked {
    /// One of the last run.
    OfRun(StepId),
    /// One of an earlier plan.
    Earlier(Token),
}

/// Finds the outcome of every step that earlier runs began and did not end, and writes it to the journal. All
/// providers are asked at the same time.
///
/// A provider that resumes a step and fails has ended it: the failure is journaled like that of any step, and
/// the next plan starts from what exists. Where a provider does not know the outcome, the next observation
/// finds the objects by their ownership. With `superseded`, another plan is to follow, and providers do not
/// wait for the results of the steps.
///
/// A step whose provider does not answer stays open and is in [`State::unresolved`]. Its resource is in
/// doubt: plans make no decision about it, and change everything that does not depend on it.
///
/// # Errors
/// When the journal cannot be written.
pub async fn recover(
    holder: &Holder,
    state: &mut State,
    providers: &Providers,
    superseded: bool,
) -> Result<Vec<Recovery>, Error> {
    let of_run = state.replayed.open.iter().map(|(step, open)| (Asked::OfRun(*step), open.clone()));
    let earlier = state.replayed.unsettled.iter();
    let earlier = earlier.map(|(token, open)| (Asked::Earlier(token.clone()), open.clone()));
    let mut asking = JoinSet::new();
    for (asked, open) in of_run.chain(earlier) {
        let handle = providers.get(&open.begin.provider);
        let asks = handle.map(|handle| (handle.session.clone(), handle.schema.clone()));
        let ask = async move { (asked, resolve(open.clone(), asks, superseded).await, open) };
        asking.spawn(ask.in_current_span());
    }
    let (mut recovered, mut unresolved) = (Vec::new(), Vec::new());
    while let Some(answer) = asking.join_next().await {
        let (asked, result, open) = match answer {
            Ok(answer) => answer,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        match result {
            Ok(result) => {
                write_down(holder, state, asked, &result).await?;
                let (step, address) = (open.begin.step, address_of(&open).cloned());
                recovered.push(Recovery { step, address, result });
            }
            Err(Unasked { token, address, error }) => {
                let provider = open.begin.provider;
                unresolved.push(Unresolved { token, address, provider, error: *error });
            }
        }
    }
    recovered.sort_by(|one, other| (one.step, &one.address).cmp(&(other.step, &other.address)));
    unresolved.sort_by(|one, other| (&one.address, &one.token).cmp(&(&other.address, &other.token)));
    state.snapshot.in_doubt = unresolved.iter().map(|step| (step.address.clone(), step.doubt())).collect();
    state.unresolved = unresolved;
    Ok(recovered)
}

fn address_of(open: &OpenStep) -> Option<&Address> {
    let asked = open.begin.request.as_ref().map(|request| &request.ownership.address);
    asked.or_else(|| open.begin.effect.address())
}

async fn write_down(
    holder: &Holder,
    state: &mut State,
    asked: Asked,
    result: &EndResult,
) -> Result<(), Error> {
    let result = result.clone();
    let entry = match asked {
        Asked::OfRun(step) => Entry::End(End { step, result }),
        Asked::Earlier(token) => Entry::Settled(Settled { token, result }),
    };
    let cluster = state.snapshot.cluster.clone();
    let bytes = entry.to_bytes().map_err(|source| Error::Corrupt {
        cluster: cluster.clone(),
        what: "journal",
        source,
    })?;
    holder.append(vec![bytes]).await.map_err(|source| Error::store(&cluster, source))?;
    state.replayed.apply(&mut state.snapshot, entry);
    Ok(())
}

/// A provider that did not answer for a step.
struct Unasked {
    token: Token,
    address: Address,
    error: Box<ProviderError>,
}

async fn resolve(
    open: OpenStep,
    asks: Option<(Arc<dyn Session>, Arc<Schema>)>,
    superseded: bool,
) -> Result<EndResult, Unasked> {
    let effect = open.begin.effect;
    let Some(request) = open.begin.request else {
        // The step touches the state only; the record of its end completes it.
        return Ok(EndResult::nothing());
    };
    let provider = open.begin.provider;
    let (token, address) = (request.token.clone(), request.ownership.address.clone());
    let Some((session, schema)) = asks else {
        let text = "it is not at hand";
        let error = Box::new(ProviderError::new(ErrorClass::NotFound, text));
        return Err(Unasked { token, address, error });
    };
    let kind = address.kind().to_owned();
    let resume = ResumeRequest { request, identity: open.identity.clone(), handle: open.handle, superseded };
    let backoff = Backoff::default();
    let mut attempt = 0;
    loop {
        attempt += 1;
        return Ok(match session.resume(resume.clone(), EventSink::discard()).await {
            Ok(Resolution::Done(applied)) => {
                let (request, declared) = (&resume.request, schema.types.get(&kind));
                let announced = open.identity.as_ref();
                match promise::kept(&provider, declared, (&*session, request), announced, &applied).await {
                    Ok(()) => EndResult::done(&applied, &schema, &kind, Some(&request.action), &effect),
                    Err(broken) => EndResult::Failed {
                        class: broken.class,
                        message: broken.message,
                        identity: broken.identity.or(open.identity),
                    },
                }
            }
            Ok(Resolution::NotDone) => EndResult::NotDone,
            Ok(Resolution::Unknown) => EndResult::Failed {
                class: ErrorClass::OutcomeUnknown,
                message: "it is unknown whether the call had its effect".to_owned(),
                identity: open.identity,
            },
            Err(error) => match backoff.delay(attempt, &error, u64::from(open.begin.step.0)) {
                Some(delay) => {
                    tokio::time::sleep(delay).await;
                    continue;
                }
                None if is_an_answer(&error.class) => EndResult::Failed {
                    class: error.class,
                    message: error.message,
                    identity: error.identity.or(open.identity),
                },
                None => return Err(Unasked { token, address, error: Box::new(error) }),
            },
        });
    }
}

/// Whether an error says how the step ended. Other errors only say that there was no answer.
fn is_an_answer(class: &ErrorClass) -> bool {
    match class {
        ErrorClass::Invalid
        | ErrorClass::NotFound
        | ErrorClass::Conflict
        | ErrorClass::PreconditionFailed
        | ErrorClass::Quota { .. }
        | ErrorClass::Dependency { .. }
        | ErrorClass::Permanent => true,
        ErrorClass::Throttled { .. }
        | ErrorClass::Permission { .. }
        | ErrorClass::Unauthenticated
        | ErrorClass::Transient
        | ErrorClass::Cancelled
        | ErrorClass::OutcomeUnknown => false,
    }
}

#[cfg(test)]
mod tests {
    use slipway_plan::Record;
    use slipway_resource::provider::{Action, Applied, ApplyRequest};
    use slipway_resource::{ClusterUid, Identity, Ownership, Value};

    use super::*;
    use crate::journal::{Begin, Effect};
    use crate::scripted::{Scripted, record, thing, things};

    /// A create of a thing that was interrupted after its identity was known.
    fn interrupted() -> OpenStep {
        let desired = Value::map([("name", Value::from("a")), ("size", 1_i64.into())]);
        let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "a".to_owned(), address: thing("a") };
        let record = Record { applied: Some(desired.clone()), ..record() };
        let action = Action::Create { desired };
        let request = ApplyRequest { token: Token::new("t"), ownership, action, timeout_ms: 60_000 };
        let effect = Effect::Put { address: thing("a"), record: Box::new(record), previous: None };
        let begin = Begin { step: StepId(0), provider: "cloud".to_owned(), request: Some(request), effect };
        OpenStep { begin, identity: Some(Identity::new("t-1")), handle: None }
    }

    /// How the step ends when the provider gives this answer.
    async fn resumed(identity: Option<&str>, attributes: Value) -> EndResult {
        let applied = Applied { identity: identity.map(Identity::new), attributes, not_shown: Vec::new() };
        let session = Scripted::default().on_resume(move |_| Ok(Resolution::Done(applied.clone())));
        let asks: (Arc<dyn Session>, Arc<Schema>) = (Arc::new(session), Arc::new(things()));
        resolve(interrupted(), Some(asks), false).await.ok().unwrap()
    }

    #[tokio::test]
    async fn what_is_reported_as_done_is_held_against_the_request() {
        let sized = |size: Value| Value::map([("name", Value::from("a")), ("size", size)]);
        let good = resumed(Some("t-1"), sized(1_i64.into())).await;
        assert!(matches!(good, EndResult::Done { .. }), "{good:?}");
        for (identity, attributes, word) in [
            (None, sized(1_i64.into()), "without an identity"),
            (Some(""), sized(1_i64.into()), "empty identity"),
            (Some("t-2"), sized(1_i64.into()), "t-2"),
            (Some("t-1"), sized(Value::Unknown), "size has no value"),
            (Some("t-1"), sized(666_i64.into()), "size is 666 where the plan has 1"),
        ] {
            let EndResult::Failed { message, identity, .. } = resumed(identity, attributes).await else {
                panic!("taken for done: {word}");
            };
            assert!(message.contains("provider cloud broke the contract"), "{message}");
            assert!(message.contains("thing.a") && message.contains(word), "{message}");
            // The state keeps the object that may exist.
            assert_eq!(identity, Some(Identity::new("t-1")));
        }
    }

    #[test]
    fn who_was_not_asked_has_not_answered() {
        for class in [
            ErrorClass::Transient,
            ErrorClass::Unauthenticated,
            ErrorClass::Permission { action: "read".to_owned() },
            ErrorClass::Throttled { rate_class: String::new(), retry_after_ms: None },
            ErrorClass::Cancelled,
            ErrorClass::OutcomeUnknown,
        ] {
            assert!(!is_an_answer(&class), "{class}");
        }
        assert!(is_an_answer(&ErrorClass::Permanent) && is_an_answer(&ErrorClass::Conflict));
    }
}
