//! After a crash: what became of the steps that were under way.

use slipway_plan::{Providers, StepId};
use slipway_resource::provider::{EventSink, Resolution, ResumeRequest};
use slipway_resource::{Address, ErrorClass, ProviderError};
use slipway_state_store::Holder;

use crate::error::Error;
use crate::journal::{Effect, End, EndResult, Entry};
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

/// Finds out what became of every step that an earlier run began and did not end, and writes that down.
///
/// What nobody can tell is left to the next observation, which finds every object by its ownership.
///
/// # Errors
/// When the journal cannot be written, or a provider cannot be asked.
pub async fn recover(
    holder: &Holder,
    state: &mut State,
    providers: &Providers,
) -> Result<Vec<Recovery>, Error> {
    let open: Vec<(StepId, OpenStep)> =
        state.replayed.open.iter().map(|(step, open)| (*step, open.clone())).collect();
    let mut recovered = Vec::new();
    for (step, open) in open {
        let address = match (&open.begin.request, &open.begin.effect) {
            (Some(request), _) => Some(request.ownership.address.clone()),
            (
                None,
                Effect::Put { address, .. }
                | Effect::Remove { address }
                | Effect::RemoveSurplus { address, .. },
            ) => Some(address.clone()),
            _ => None,
        };
        let result = resolve(open, providers).await?;
        let entry = Entry::End(End { step, result: result.clone() });
        let cluster = state.snapshot.cluster.clone();
        let bytes = entry.to_bytes().map_err(|source| Error::Corrupt {
            cluster: cluster.clone(),
            what: "journal",
            source,
        })?;
        holder.append(vec![bytes]).await.map_err(|source| Error::store(&cluster, source))?;
        state.replayed.apply(&mut state.snapshot, entry);
        recovered.push(Recovery { step, address, result });
    }
    Ok(recovered)
}

async fn resolve(open: OpenStep, providers: &Providers) -> Result<EndResult, Error> {
    let effect = open.begin.effect;
    let Some(request) = open.begin.request else {
        // It touches the state only; writing that down is all there is to it.
        return Ok(EndResult::nothing());
    };
    let provider = &open.begin.provider;
    let Some(handle) = providers.get(provider) else {
        let error =
            ProviderError::new(ErrorClass::NotFound, "the provider of an interrupted step is not at hand");
        return Err(Error::provider(provider, "resume a step", error));
    };
    let kind = request.ownership.address.kind().to_owned();
    let resume = ResumeRequest { request, identity: open.identity.clone(), handle: open.handle };
    let backoff = Backoff::default();
    let mut attempt = 0;
    loop {
        attempt += 1;
        return Ok(match handle.session.resume(resume.clone(), EventSink::discard()).await {
            Ok(Resolution::Done(applied)) => {
                EndResult::done(&applied, &handle.schema, &kind, Some(&resume.request.action), &effect)
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
                None => return Err(Error::provider(provider, "resume a step", error)),
            },
        });
    }
}
