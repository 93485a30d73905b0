//! Finds the result of an action after a crash, or after its answer was lost.

use std::time::Duration;

use slipway_aws_model::normalise::normalised;
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, Applied, EventSink, Resolution, ResumeRequest};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::act::{Expected, finish_create, lacking, shown};
use crate::act::{Act, Wait};
use crate::cloud::Cloud;
use crate::kind::{self, Kind};
use crate::late::Lost;

/// For how long an object is looked for before it counts as never made. One that is shown even later is found when the
/// create that was sent again is through.
const CONSISTENCY: Duration = Duration::from_secs(30);

/// Finds the result of an action, and waits for its end.
pub(super) async fn resume(
    cloud: &Cloud,
    request: &ResumeRequest,
    events: &EventSink,
    ticket: Ticket<'_>,
) -> Result<Resolution, ProviderError> {
    let kind = kind::of(&request.request.ownership.address)?;
    let act = Act::new(cloud, &request.request, events, ticket);
    match &request.request.action {
        Action::Create { desired } => {
            let desired = normalised(kind.name(), desired);
            match made(&act, kind, request.identity.as_ref(), &desired).await? {
                Some(identity) => Ok(Resolution::Done(finish_create(&act, kind, &identity, &desired).await?)),
                None => Ok(Resolution::NotDone),
            }
        }
        Action::Update { identity, desired, .. } => {
            let desired = normalised(kind.name(), desired);
            match kind::read(kind, cloud, identity).await? {
                Some(found) if lacking(kind, &found.attributes, &desired).is_empty() => {
                    Ok(Resolution::Done(shown(&act, kind, identity, Expected::Changed(&desired)).await?))
                }
                _ => Ok(Resolution::NotDone),
            }
        }
        Action::Delete { identity } => match kind.read(cloud, identity).await? {
            None if !kind.remains(cloud, identity).await? => Ok(Resolution::Done(Applied::default())),
            _ => Ok(Resolution::NotDone),
        },
        // Both may be done twice.
        Action::Tag { .. } | Action::Operation { .. } => Ok(Resolution::NotDone),
    }
}

/// The object that a create has made. A create that can be sent twice needs no second look. Otherwise, the
/// object is searched as long as reads may lag behind.
async fn made(
    act: &Act<'_>,
    kind: &dyn Kind,
    announced: Option<&Identity>,
    desired: &Value,
) -> Result<Option<Identity>, ProviderError> {
    if let Some(identity) = announced {
        return Ok(Some(identity.clone()));
    }
    let mut wait = Wait::for_at_most(CONSISTENCY);
    loop {
        if let Some(identity) = kind.made(act, desired).await? {
            return Ok(Some(identity));
        }
        if kind.is_idempotent() {
            return Ok(None);
        }
        match act.pause(&mut wait, "nothing was found").await {
            Ok(()) => {}
            Err(error) if error.class == ErrorClass::OutcomeUnknown => {
                act.cloud.shared::<Lost>().add(&act.request.ownership.address);
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
}
