//! Deletes an object, or gives it back to its former field managers.

use serde_json::{Value as Json, json};
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Applied, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, Identity, ProviderError};

use super::KubernetesSession;
use super::act::refused;
use super::read::is_life;
use super::wait::Patience;
use crate::api::{Answer, Connection, Request};
use crate::marks::{MANAGER, Marks};
use crate::object::{ObjectIdentity, ObjectKey, text};
use crate::readiness::holders;

impl KubernetesSession {
    /// Deletes one object by its uid, and waits until it is gone. If it is gone already, nothing is done.
    pub(super) async fn delete(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        identity: &Identity,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let identity = ObjectIdentity::parse(identity)?;
        let live = self.live(connection, &identity.key).await?.filter(|live| is_life(live, &identity));
        if let Some(live) = live {
            let marks = Marks::read(&live);
            if marks.found {
                self.give_back(connection, &identity.key, &live).await?;
            } else {
                let gone =
                    self.delete_live(connection, &identity, &live, &marks, (request, events), ticket).await;
                // The deletion goes on, even when the action is cancelled.
                gone.map_err(|error| match error.class {
                    ErrorClass::Cancelled => {
                        ProviderError { identity: Some(identity.to_identity()), ..error }
                    }
                    _ => error,
                })?;
            }
        }
        self.left(connection, &request.ownership.uid, &identity.key).await?;
        Ok(Applied::default())
    }

    async fn delete_live(
        &self,
        connection: &Connection,
        identity: &ObjectIdentity,
        live: &Json,
        marks: &Marks,
        (request, events): (&ApplyRequest, &EventSink),
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let key = &identity.key;
        let uid = text(live, "/metadata/uid").unwrap_or_default();
        let mut held = live.clone();
        if live.pointer("/metadata/deletionTimestamp").is_none() {
            let Some(resource) = self.resource(connection, &key.kind, None).await? else { return Ok(()) };
            let propagation = marks.propagation.as_deref().unwrap_or("Background");
            let options = json!({"preconditions": {"uid": uid}, "propagationPolicy": propagation});
            let path = resource.object(&key.kind, &key.namespace, &key.name);
            match connection.send(&Request::delete(path, &options)).await? {
                Answer::Done { body, .. } if text(&body, "/metadata/uid") == Some(uid) => held = body,
                // The answer is a Status: the object is gone.
                Answer::Done { .. } => return Ok(()),
                Answer::Refused(refusal) if refusal.is_not_found() => return Ok(()),
                // Another object of the same name: this one is gone. Only the message tells which precondition failed; the request has
                // no other than the UID.
                Answer::Refused(refusal) if refusal.status == 409 && refusal.message.contains("UID") => {
                    return Ok(());
                }
                Answer::Refused(refusal) => return Err(refused(key, refusal)),
            }
        }
        let mut patience = Patience::new(request.timeout_ms);
        let mut reported = String::new();
        loop {
            // Some servers answer with the object although it is gone already.
            let now = self.live(connection, key).await;
            match now {
                Ok(Some(now)) if text(&now, "/metadata/uid") == Some(uid) => held = now,
                Ok(_) => return Ok(()),
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
            let why = holders(&held);
            if why != reported {
                events.send(ApplyEvent::Progress(format!("waiting until it is gone: {why}")));
                reported = why;
            }
            if !patience.pause(ticket).await? {
                let blockers = reported.split("; ").map(str::to_owned).collect();
                let seconds = request.timeout_ms / 1000;
                let text = format!("{key} is not gone after {seconds} s: {reported}");
                let mut error = ProviderError::new(ErrorClass::Dependency { blockers }, text).with_hint(
                    "a finalizer is taken away by the controller that has set it; look at that controller",
                );
                error.identity = Some(identity.to_identity());
                return Err(error);
            }
        }
    }

    /// Removes Slipway's fields and marks from an object that existed before. Fields of other managers stay.
    async fn give_back(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        live: &Json,
    ) -> Result<(), ProviderError> {
        let Some(resource) = self.resource(connection, &key.kind, None).await? else { return Ok(()) };
        let body = json!({
            "apiVersion": resource.api_version(&key.kind),
            "kind": key.kind.kind,
            "metadata": {"name": key.name, "uid": text(live, "/metadata/uid")},
        });
        let path = resource.object(&key.kind, &key.namespace, &key.name);
        let path = format!("{path}?fieldManager={MANAGER}&force=true");
        match connection.send(&Request::apply(path, &body)).await? {
            Answer::Done { .. } => Ok(()),
            Answer::Refused(refusal) if refusal.is_not_found() => Ok(()),
            Answer::Refused(refusal) => Err(refused(key, refusal)),
        }
    }
}
