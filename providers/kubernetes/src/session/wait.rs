//! Waits until an object is ready, within the time of the action.

use std::time::Duration;

use serde_json::Value as Json;
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::KubernetesSession;
use crate::api::Connection;
use crate::object::{ObjectKey, text};
use crate::readiness::{Readiness, assess};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How long a failure must last. Some failures pass, such as the exceeded deadline of the previous rollout.
const FAILED: Duration = Duration::from_secs(10);

/// The time limit of an action.
pub(super) struct Patience {
    end: Option<Instant>,
    wait: Duration,
}

impl Patience {
    pub(super) fn new(timeout_ms: u64) -> Self {
        let end = (timeout_ms > 0).then(|| Instant::now() + Duration::from_millis(timeout_ms));
        Self { end, wait: FIRST_WAIT }
    }

    /// Pauses, a little longer each time; `false` when the time is over.
    ///
    /// # Errors
    /// `cancelled`.
    pub(super) async fn pause(&mut self, ticket: &Ticket<'_>) -> Result<bool, ProviderError> {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let wait = tokio::time::sleep(self.wait.min(left.unwrap_or(self.wait)));
        let cancelled = |_| ProviderError::new(ErrorClass::Cancelled, "stopped on request");
        ticket.unless_stopped(wait).await.map_err(cancelled)?;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        Ok(true)
    }
}

impl KubernetesSession {
    /// Waits until a live object is ready.
    ///
    /// # Errors
    /// `permanent` when the object fails or is not ready in time, with its own message; `cancelled`.
    pub(super) async fn ready(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        mut live: Json,
        request: &ApplyRequest,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let uid = text(&live, "/metadata/uid").unwrap_or_default().to_owned();
        let mut patience = Patience::new(request.timeout_ms);
        let mut reported = String::new();
        let mut failed_since: Option<Instant> = None;
        loop {
            let missing = match assess(&live) {
                Readiness::Ready if self.is_served(connection, key, &live).await? => return Ok(()),
                Readiness::Ready => "its kind is not served yet".to_owned(),
                Readiness::InProgress(missing) => {
                    failed_since = None;
                    missing
                }
                Readiness::Failed(why) => {
                    let since = *failed_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= FAILED {
                        let text = format!("{key} failed: {why}");
                        return Err(ProviderError::new(ErrorClass::Permanent, text));
                    }
                    why
                }
                Readiness::Terminating(holders) => {
                    let text = format!("{key} is being deleted by another client: {holders}");
                    return Err(ProviderError::new(ErrorClass::PreconditionFailed, text));
                }
            };
            if missing != reported {
                events.send(ApplyEvent::Progress(missing.clone()));
                reported = missing;
            }
            if !patience.pause(ticket).await? {
                let seconds = request.timeout_ms / 1000;
                let text = format!("{key} is not ready after {seconds} s: {reported}");
                return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                    "it exists; apply again when what it waits for is there, or do not wait for it",
                ));
            }
            match self.live(connection, key).await {
                Ok(Some(now)) if text(&now, "/metadata/uid") == Some(uid.as_str()) => live = now,
                Ok(_) => {
                    let text = format!("{key} was deleted by another client while the step waited for it");
                    return Err(ProviderError::new(ErrorClass::PreconditionFailed, text));
                }
                // The API may be away for a moment, as while it restarts.
                Err(error) if error.class.is_retryable() => reported = error.message,
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether objects of a kind that a definition brings can be made: discovery comes a moment after.
    async fn is_served(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        live: &Json,
    ) -> Result<bool, ProviderError> {
        if key.kind.kind != "CustomResourceDefinition" || key.kind.group != "apiextensions.k8s.io" {
            return Ok(true);
        }
        let of = |pointer: &str| text(live, pointer).unwrap_or_default();
        let kind = crate::object::GroupKind::new(of("/spec/group"), of("/spec/names/kind"));
        self.forget_catalogue().await;
        Ok(self.catalogue(connection).await?.resource(&kind, None).is_some())
    }
}
