//! The API as a resource: it exists as soon as the API answers at its address.
//!
//! A provider whose machines serve the API returns this resource with its own. The objects inside the cluster
//! depend on it, so that a run has one step that waits while machines boot.

use std::time::Duration;

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, Identity, Observation, ProviderError};
use tokio::time::Instant;

use super::KubernetesSession;
use super::wait::Patience;
use crate::api::{Connection, Request};
use crate::endpoint::ApiEndpoint;
use crate::manifest::invalid;
use crate::schema::API;

/// How often a step that waits for the same reason says so again: the engine takes a silent action for lost after 300 s.
const SAY_AGAIN: Duration = Duration::from_secs(60);
/// An object that exists as soon as a new API server has set itself up.
const FIRST: &str = "/api/v1/namespaces/kube-system";

impl KubernetesSession {
    pub(super) async fn act_on_api(
        &self,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        match &request.action {
            Action::Create { desired } | Action::Update { desired, .. } => {
                let endpoint = ApiEndpoint::of_attributes(desired)?;
                self.await_api(&endpoint, request, events, ticket).await?;
                Ok(Applied::new(endpoint.identity(), endpoint.attributes()))
            }
            // The API servers are deleted with the machines that they run on.
            Action::Delete { .. } => Ok(Applied::default()),
            Action::Tag { identity } => {
                let endpoint = parsed(identity)?;
                Ok(Applied::new(identity.clone(), endpoint.attributes()))
            }
            Action::Operation { name, .. } => Err(invalid(format!("{name} is not an operation of {API}"))),
        }
    }

    /// Waits until the API answers. From then on the session reaches the cluster there.
    async fn await_api(
        &self,
        endpoint: &ApiEndpoint,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut patience = Patience::new(request.timeout_ms);
        let mut reported: Option<(String, Instant)> = None;
        loop {
            let missing = match self.connector.try_at(endpoint, answers).await {
                Ok(()) => return Ok(()),
                Err(error) if may_pass(&error) => error.message,
                Err(error) => return Err(error),
            };
            let is_news =
                reported.as_ref().is_none_or(|(text, at)| *text != missing || at.elapsed() >= SAY_AGAIN);
            if is_news {
                events.send(ApplyEvent::Progress(format!("waiting until {endpoint} answers: {missing}")));
                reported = Some((missing.clone(), Instant::now()));
            }
            if !patience.pause(ticket).await? {
                let seconds = request.timeout_ms / 1000;
                let text = format!("the API at {endpoint} does not answer after {seconds} s: {missing}");
                return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                    "the machines exist. See what `slipway validate` reports about them and whether this machine reaches \
                     the address, then run `slipway apply` again",
                ));
            }
        }
    }

    /// Observes the API through the connection of the session.
    pub(super) async fn observed_api(&self, connection: &Connection, identity: &Identity) -> Observation {
        let endpoint = match parsed(identity) {
            Ok(endpoint) => endpoint,
            Err(error) => return Observation::Unreadable(error),
        };
        match ask(connection).await {
            Ok(()) => Observation::Present(endpoint.attributes()),
            Err(error) => Observation::Unreadable(error),
        }
    }
}

/// Whether the API answers, without repeating the request.
async fn answers(connection: Connection) -> Result<(), ProviderError> {
    connection.send(&Request::get(FIRST)).await?.body().map(drop)
}

async fn ask(connection: &Connection) -> Result<(), ProviderError> {
    connection.ask(&Request::get(FIRST)).await?.body().map(drop)
}

/// Whether a failure is one of an API that is still starting.
fn may_pass(error: &ProviderError) -> bool {
    error.class.is_retryable() || error.class == ErrorClass::NotFound
}

fn parsed(identity: &Identity) -> Result<ApiEndpoint, ProviderError> {
    ApiEndpoint::of_identity(identity)
        .ok_or_else(|| invalid(format!("{identity} is not an identity of {API}")))
}
