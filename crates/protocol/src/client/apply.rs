//! All actions of a session over one stream.
//!
//! Requests go through a queue that the stream drains in messages of many; one task takes the events and hands
//! each to the action that waits for it. The task ends with the stream and is awaited when the session closes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use prost::Message;
use slipway_resource::provider::{Applied, ApplyEvent, EventSink};
use slipway_resource::{ErrorClass, Identity, ProviderError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::Streaming;

use super::Connection;
use super::call::malformed;
use crate::generated as proto;
use crate::generated::apply_event::Event;
use crate::{Life, PAGE_BYTES};

/// How many requests one message carries at most.
const REQUESTS: usize = 256;

type Outcome = Result<Applied, ProviderError>;

struct Waiting {
    events: EventSink,
    outcome: oneshot::Sender<Outcome>,
}

type Actions = Mutex<HashMap<String, Waiting>>;

/// The stream of a session, opened by its first action.
pub(super) struct Multiplexer {
    stream: tokio::sync::Mutex<Option<OpenStream>>,
    actions: Arc<Actions>,
}

struct OpenStream {
    requests: mpsc::Sender<proto::ApplyRequest>,
    reader: JoinHandle<()>,
}

/// An action that waits; dropping it forgets the action.
pub(super) struct Ticket {
    token: String,
    actions: Arc<Actions>,
    outcome: oneshot::Receiver<Outcome>,
}

impl Multiplexer {
    pub(super) fn new() -> Self {
        Self { stream: tokio::sync::Mutex::new(None), actions: Arc::default() }
    }

    /// Sends an action.
    pub(super) async fn send(
        &self,
        connection: &Arc<Connection>,
        session: &str,
        request: proto::ApplyRequest,
        events: EventSink,
    ) -> Result<Ticket, ProviderError> {
        let requests = self.requests(connection, session).await?;
        let ticket = self.ticket(&request.token, events)?;
        if requests.send(request).await.is_err() {
            // The queue went with the stream; nothing of this request has left.
            return Err(ProviderError::new(
                ErrorClass::Transient,
                format!("provider {} closed the stream of actions", connection.life.name()),
            ));
        }
        Ok(ticket)
    }

    fn ticket(&self, token: &str, events: EventSink) -> Result<Ticket, ProviderError> {
        let (sender, outcome) = oneshot::channel();
        match locked(&self.actions).entry(token.to_owned()) {
            Entry::Occupied(_) => Err(ProviderError::new(
                ErrorClass::Invalid,
                format!("the action with token {token} is under way already"),
            )),
            Entry::Vacant(place) => {
                place.insert(Waiting { events, outcome: sender });
                Ok(Ticket { token: token.to_owned(), actions: Arc::clone(&self.actions), outcome })
            }
        }
    }

    #[expect(
        clippy::significant_drop_tightening,
        reason = "the lock is tokio's: others wait until the stream is open"
    )]
    async fn requests(
        &self,
        connection: &Arc<Connection>,
        session: &str,
    ) -> Result<mpsc::Sender<proto::ApplyRequest>, ProviderError> {
        let mut stream = self.stream.lock().await;
        if let Some(open) = stream.as_ref()
            && !open.requests.is_closed()
            && !open.reader.is_finished()
        {
            return Ok(open.requests.clone());
        }
        let (requests, queue) = mpsc::channel(REQUESTS);
        let mut rpc = connection.rpc.clone();
        let events = match rpc.apply(messages(session.to_owned(), queue)).await {
            Ok(response) => response.into_inner(),
            // Nothing was sent yet, so nothing has happened.
            Err(status) => return Err(connection.failure(&status).await),
        };
        let reader = tokio::spawn(read(Arc::clone(connection), Arc::clone(&self.actions), events));
        *stream = Some(OpenStream { requests: requests.clone(), reader });
        Ok(requests)
    }

    /// Says that no more actions come, and waits for the provider to end the stream; not longer than `limit`,
    /// in case that an action there never ends.
    pub(super) async fn close(&self, limit: Duration) {
        let open = self.stream.lock().await.take();
        if let Some(OpenStream { requests, mut reader }) = open {
            drop(requests);
            if tokio::time::timeout(limit, &mut reader).await.is_err() {
                reader.abort();
            }
        }
    }
}

impl Drop for Multiplexer {
    fn drop(&mut self) {
        if let Some(open) = self.stream.get_mut() {
            open.reader.abort();
        }
    }
}

impl Ticket {
    /// Waits for the end of the action.
    pub(super) async fn outcome(mut self, life: &Life) -> Outcome {
        (&mut self.outcome).await.unwrap_or_else(|_| {
            Err(ProviderError::new(
                ErrorClass::OutcomeUnknown,
                format!("the stream of actions of provider {} broke", life.name()),
            ))
        })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        locked(&self.actions).remove(&self.token);
    }
}

fn locked(actions: &Actions) -> MutexGuard<'_, HashMap<String, Waiting>> {
    actions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Messages of as many requests as wait, and about one MiB at most.
fn messages(
    session: String,
    queue: mpsc::Receiver<proto::ApplyRequest>,
) -> impl Stream<Item = proto::ApplyRequests> {
    // The first message names the session, so that the provider can answer before the first action.
    let first = proto::ApplyRequests { session, requests: Vec::new() };
    stream::unfold((Some(first), queue), |(first, mut queue)| async move {
        if let Some(first) = first {
            return Some((first, (None, queue)));
        }
        let mut requests = vec![queue.recv().await?];
        let mut bytes = requests.first().map_or(0, Message::encoded_len);
        while bytes < PAGE_BYTES
            && requests.len() < REQUESTS
            && let Ok(request) = queue.try_recv()
        {
            bytes += request.encoded_len();
            requests.push(request);
        }
        let message = proto::ApplyRequests { session: String::new(), requests };
        Some((message, (None, queue)))
    })
}

/// Hands events over until the stream ends, and tells what is still waiting then.
async fn read(connection: Arc<Connection>, actions: Arc<Actions>, mut events: Streaming<proto::ApplyEvents>) {
    let end = loop {
        match events.message().await {
            Ok(Some(message)) => match connection.checked(message) {
                Ok(message) => {
                    for event in message.events {
                        deliver(&connection.life, &actions, event);
                    }
                }
                Err(error) => break error,
            },
            Ok(None) => {
                break ProviderError::new(
                    ErrorClass::OutcomeUnknown,
                    format!("provider {} ended the stream of actions", connection.life.name()),
                );
            }
            Err(status) => break connection.interrupted(&status).await,
        }
    };
    let waiting: Vec<Waiting> = locked(&actions).drain().map(|(_, waiting)| waiting).collect();
    for waiting in waiting {
        let error = ProviderError { class: ErrorClass::OutcomeUnknown, ..end.clone() };
        // Whoever waited may have gone.
        let _ = waiting.outcome.send(Err(error));
    }
}

fn deliver(life: &Life, actions: &Actions, event: proto::ApplyEvent) {
    let outcome = match event.event {
        Some(Event::Done(applied)) => Applied::try_from(applied)
            .map_err(|error| ProviderError { class: ErrorClass::OutcomeUnknown, ..malformed(life, &error) }),
        Some(Event::Failed(error)) => {
            Err(ProviderError::try_from(error).unwrap_or_else(|error| malformed(life, &error)))
        }
        other => {
            let sink = locked(actions).get(&event.token).map(|waiting| waiting.events.clone());
            if let (Some(sink), Some(event)) = (sink, passing(other)) {
                sink.send(event);
            }
            return;
        }
    };
    if let Some(waiting) = locked(actions).remove(&event.token) {
        // Whoever waited may have gone.
        let _ = waiting.outcome.send(outcome);
    }
}

/// An event that does not end its action; one that is not known says nothing.
pub(super) fn passing(event: Option<Event>) -> Option<ApplyEvent> {
    match event? {
        Event::Started(_) => Some(ApplyEvent::Started),
        Event::Identity(identity) => Some(ApplyEvent::Identity(Identity::new(identity))),
        Event::Progress(text) => Some(ApplyEvent::Progress(text)),
        Event::Handle(handle) => Some(ApplyEvent::Handle(handle)),
        Event::Done(_) | Event::Failed(_) => None,
    }
}
