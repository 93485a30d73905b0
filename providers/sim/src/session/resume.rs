//! Finds the result of an action after a crash.

use slipway_resource::provider::{
    Action, Applied, ApplyRequest, EventSink, Resolution, ResumeRequest, operation,
};
use slipway_resource::{Identity, ProviderError};

use super::act::{method, target};
use super::create::Settled;
use super::{SimSession, kind_of};
use crate::fault::Call;

impl SimSession {
    pub(super) async fn resume_one(
        &self,
        request: &ResumeRequest,
        events: &EventSink,
    ) -> Result<Resolution, ProviderError> {
        let address = &request.request.ownership.address;
        let call = Call { method: "resume", type_name: address.kind(), name: address.name() };
        let kind = kind_of(address)?;
        let result = match self.begin(call, &kind.resource.rate_class).await {
            Ok(_) => self.resolve(&request.request, events).await,
            Err(error) => Err(error),
        };
        let outcome = match &result {
            Ok(Resolution::Done(_)) => "done",
            Ok(Resolution::NotDone) => "not-done",
            Ok(Resolution::Unknown) => "unknown",
            Err(error) => error.class.name(),
        };
        let mut record = self.record(call, outcome, 1);
        record.token = Some(request.request.token.as_str().to_owned());
        self.calls.append(&[record]);
        result.map_err(|error| error.with_address(address))
    }

    async fn resolve(&self, request: &ApplyRequest, events: &EventSink) -> Result<Resolution, ProviderError> {
        let begun = self.clock.now();
        let kind = kind_of(&request.ownership.address)?;
        let resolved = self.cloud.read(&self.clock, |world, now| match &request.action {
            Action::Create { .. } => world
                .made_by(&request.token)
                .map(|object| Settled { id: object.id.clone(), at: object.settled_at }),
            Action::Tag { identity } => world
                .object(identity.as_str())
                .filter(|object| object.owner.as_ref() == Some(&request.ownership))
                .map(|object| Settled { id: object.id.clone(), at: now }),
            Action::Delete { identity } if world.object(identity.as_str()).is_none() => {
                Some(Settled { id: identity.as_str().to_owned(), at: now })
            }
            _ => world
                .journaled(&request.token)
                .map(|entry| Settled { id: entry.id.clone(), at: entry.done_at.unwrap_or(now) }),
        })?;
        let Some(settled) = resolved else {
            return Ok(Resolution::NotDone);
        };
        tracing::debug!(method = method(&request.action), id = %settled.id, "resumed");
        let ticket = self.running.begin(&request.token);
        if target(&request.action).is_none() || matches!(request.action, Action::Update { .. }) {
            self.settle(kind, request, &settled, begun, &ticket, events).await?;
        } else {
            let _stopped = ticket.unless_stopped(self.clock.sleep_until(settled.at)).await;
        }
        let identity = Identity::new(settled.id.as_str());
        Ok(Resolution::Done(match &request.action {
            Action::Delete { .. } => Applied::default(),
            Action::Operation { name, .. } => {
                let machine = self.cloud.read(&self.clock, |world, _| {
                    world.machine(world.journaled(&request.token)?.machine.as_deref()?).cloned()
                })?;
                Applied::new(identity, self.found(machine.as_ref(), name == operation::SURGE)?)
            }
            _ => self.shown(&identity)?,
        }))
    }
}
