//! After a crash: what became of the steps that were under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_plan::{Providers, StepId};
use slipway_resource::provider::{EventSink, Resolution, ResumeRequest};
use slipway_resource::{Address, ErrorClass, ProviderError, Schema, Session};
use slipway_state_store::Holder;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::journal::{End, EndResult, Entry};
use crate::promise;
use crate::replay::OpenStep;
use crate::retry::Backoff;
use crate::state::State;

/// What was found out about one step.
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
    /// The step.
    pub step: StepId,
    /// The resource, or the number of the step.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Why it could not be asked.
    pub error: ProviderError,
}

/// Finds out what became of every step that an earlier run began and did not end, and writes that down. Providers are asked
/// about all steps at the same time.
///
/// A provider that goes on with a step and fails has ended it: the failure is written down like that of any step, and the
/// next plan starts from what exists. What nobody can tell is left to the next observation, which finds every object by
/// its ownership. With `superseded`, something else is wanted by now, and providers wait for nothing that the steps were to
/// bring about.
///
/// # Errors
/// When the journal cannot be written. [`Error::Unresolved`] when a provider could not be asked about some of the steps:
/// these stay open, and what was found out about the others is written down.
pub async fn recover(
    holder: &Holder,
    state: &mut State,
    providers: &Providers,
    superseded: bool,
) -> Result<Vec<Recovery>, Error> {
    let open: Vec<(StepId, OpenStep)> =
        state.replayed.open.iter().map(|(step, open)| (*step, open.clone())).collect();
    let names: BTreeMap<StepId, Option<Address>> =
        open.iter().map(|(step, open)| (*step, address_of(open).cloned())).collect();
    let mut asked = JoinSet::new();
    for (step, open) in open {
        let handle = providers.get(&open.begin.provider);
        let asks = handle.map(|handle| (handle.session.clone(), handle.schema.clone()));
        asked.spawn(async move { (step, resolve(open, asks, superseded).await) });
    }
    let (mut recovered, mut unresolved) = (BTreeMap::new(), Vec::new());
    while let Some(answer) = asked.join_next().await {
        let (step, result) = match answer {
            Ok(answer) => answer,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let address = names.get(&step).cloned().flatten();
        match result {
            Ok(result) => {
                write_down(holder, state, step, &result).await?;
                recovered.insert(step, Recovery { step, address, result });
            }
            Err(Unasked { provider, error }) => {
                let name = address.map_or_else(|| format!("step {step}"), |address| address.to_string());
                unresolved.push(Unresolved { step, name, provider, error: *error });
            }
        }
    }
    if unresolved.is_empty() {
        return Ok(recovered.into_values().collect());
    }
    unresolved.sort_by_key(|unresolved| unresolved.step);
    Err(Error::Unresolved { cluster: state.snapshot.cluster.clone(), steps: unresolved })
}

fn address_of(open: &OpenStep) -> Option<&Address> {
    let asked = open.begin.request.as_ref().map(|request| &request.ownership.address);
    asked.or_else(|| open.begin.effect.address())
}

async fn write_down(
    holder: &Holder,
    state: &mut State,
    step: StepId,
    result: &EndResult,
) -> Result<(), Error> {
    let entry = Entry::End(End { step, result: result.clone() });
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

/// A provider that could not be asked about a step.
struct Unasked {
    provider: String,
    error: Box<ProviderError>,
}

async fn resolve(
    open: OpenStep,
    asks: Option<(Arc<dyn Session>, Arc<Schema>)>,
    superseded: bool,
) -> Result<EndResult, Unasked> {
    let effect = open.begin.effect;
    let Some(request) = open.begin.request else {
        // It touches the state only; writing that down is all there is to it.
        return Ok(EndResult::nothing());
    };
    let provider = open.begin.provider;
    let Some((session, schema)) = asks else {
        let text = "the provider of an interrupted step is not at hand";
        let error = Box::new(ProviderError::new(ErrorClass::NotFound, text));
        return Err(Unasked { provider, error });
    };
    let kind = request.ownership.address.kind().to_owned();
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
                message: "nobody can tell whether the call had its effect".to_owned(),
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
                None => return Err(Unasked { provider, error: Box::new(error) }),
            },
        });
    }
}

/// Whether an error tells how the step ended; else it only says that the question was not answered.
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
    use slipway_resource::{ClusterUid, Identity, Ownership, Token, Value};

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

    /// How the step ends whose provider answers so.
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
            // The object that may exist is remembered.
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
