//! All actions of a session over one stream.
//!
//! Requests pass through a queue that the stream drains in messages with several requests. One task receives
//! the events and passes each to its action. The task ends with the stream and is awaited when the session
//! closes.

mod recorded;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use prost::Message;
use slipway_resource::provider::{Applied, EventSink};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::Connection;
use super::call::{checked, malformed};
use crate::convert::passing;
use crate::generated as proto;
use crate::generated::apply_event::Event;
use crate::{Life, PAGE_BYTES};

pub use recorded::{Recorded, recorded};

/// Maximum number of requests in one message.
const REQUESTS: usize = 256;

type Outcome = Result<Applied, ProviderError>;

/// Maximum number of events of one action.
pub(super) const EVENTS: u32 = 100_000;

struct Waiting {
    events: EventSink,
    reported: u32,
    outcome: oneshot::Sender<Outcome>,
}

/// The actions of one stream.
#[derive(Default)]
struct Table {
    /// The actions in progress, by their tokens.
    waiting: HashMap<String, Waiting>,
    /// The ended actions: their last events may still arrive.
    over: HashSet<String>,
}

/// The actions of one stream; `None` when the stream has ended.
type Actions = Mutex<Option<Table>>;

/// The stream of a session, opened by its first action, and again by the first after its end.
pub(super) struct Multiplexer {
    stream: tokio::sync::Mutex<Option<OpenStream>>,
}

struct OpenStream {
    line: Line,
    reader: JoinHandle<()>,
}

/// The queue for actions.
#[derive(Clone)]
struct Line {
    requests: mpsc::Sender<proto::ApplyRequest>,
    actions: Arc<Actions>,
}

/// A waiting action; dropping the ticket removes the action.
pub(super) struct Ticket {
    token: String,
    actions: Arc<Actions>,
    outcome: oneshot::Receiver<Outcome>,
}

impl Multiplexer {
    pub(super) fn new() -> Self {
        Self { stream: tokio::sync::Mutex::new(None) }
    }

    /// Sends an action.
    pub(super) async fn send(
        &self,
        connection: &Arc<Connection>,
        session: &str,
        request: proto::ApplyRequest,
        events: EventSink,
    ) -> Result<Ticket, ProviderError> {
        if connection.life.ended().is_some()
            && let Some(text) = connection.life.obituary(Duration::ZERO).await
        {
            // No request is sent, so the action has no effect.
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        let line = self.line(connection, session).await;
        let closed = || {
            // The queue ended with the stream, and this request was not sent.
            ProviderError::new(
                ErrorClass::Transient,
                format!("provider {} closed the stream of actions", connection.life.name()),
            )
        };
        let (sender, outcome) = oneshot::channel();
        let token = request.token.clone();
        match locked(&line.actions).as_mut() {
            None => return Err(closed()),
            Some(table) => {
                let Entry::Vacant(place) = table.waiting.entry(token.clone()) else {
                    return Err(ProviderError::new(
                        ErrorClass::Invalid,
                        format!("the action with token {token} is under way already"),
                    ));
                };
                place.insert(Waiting { events, reported: 0, outcome: sender });
                // A repeated action has the token of an ended one.
                table.over.remove(&token);
            }
        }
        let ticket = Ticket { token, actions: line.actions, outcome };
        match line.requests.send(request).await {
            Ok(()) => Ok(ticket),
            Err(_) => Err(closed()),
        }
    }

    /// The open stream, or a new one.
    async fn line(&self, connection: &Arc<Connection>, session: &str) -> Line {
        let mut stream = self.stream.lock().await;
        if let Some(open) = stream.as_ref()
            && locked(&open.line.actions).is_some()
        {
            return open.line.clone();
        }
        let (requests, queue) = mpsc::channel(REQUESTS);
        let line = Line { requests, actions: Arc::new(Mutex::new(Some(Table::default()))) };
        let messages = messages(session.to_owned(), queue);
        let reader = tokio::spawn(read(Arc::clone(connection), Arc::clone(&line.actions), messages));
        *stream = Some(OpenStream { line: line.clone(), reader });
        drop(stream);
        line
    }

    /// Announces that no more actions come, and waits until the provider ends the stream, at most `limit`, in
    /// case that an action never ends.
    pub(super) async fn close(&self, limit: Duration) {
        let open = self.stream.lock().await.take();
        if let Some(OpenStream { line, mut reader }) = open {
            drop(line);
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
    /// Waits for the end of the action, if the provider has sent an event for it within `begins`.
    pub(super) async fn outcome(mut self, life: &Life, begins: Duration) -> Outcome {
        let ended = match tokio::time::timeout(begins, &mut self.outcome).await {
            Ok(ended) => ended,
            Err(_) if self.has_begun() => (&mut self.outcome).await,
            Err(_) => {
                let text = format!(
                    "provider {} reported nothing about an action within {} s",
                    life.name(),
                    begins.as_secs()
                );
                return Err(ProviderError::new(ErrorClass::OutcomeUnknown, text));
            }
        };
        ended.unwrap_or_else(|_| {
            let text = format!("the stream of actions of provider {} broke", life.name());
            Err(ProviderError::new(ErrorClass::OutcomeUnknown, text))
        })
    }

    fn has_begun(&self) -> bool {
        let actions = locked(&self.actions);
        let waiting = actions.as_ref().and_then(|table| table.waiting.get(&self.token));
        waiting.is_none_or(|waiting| waiting.reported > 0)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(actions) = locked(&self.actions).as_mut() {
            actions.finish(&self.token);
        }
    }
}

impl Table {
    /// Removes an action. Events in transit may still arrive.
    fn finish(&mut self, token: &str) -> Option<Waiting> {
        let waiting = self.waiting.remove(token)?;
        self.over.insert(token.to_owned());
        Some(waiting)
    }
}

fn locked(actions: &Actions) -> MutexGuard<'_, Option<Table>> {
    actions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Messages with all waiting requests, of about [`PAGE_BYTES`] at most.
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

/// Opens the stream and passes events on until it ends. Actions that still wait then get an error.
///
/// Requests are sent before the first answer: a server may begin to answer with its first event.
async fn read(
    connection: Arc<Connection>,
    actions: Arc<Actions>,
    requests: impl Stream<Item = proto::ApplyRequests> + Send + 'static,
) {
    let end = events(&connection, &actions, requests).await;
    let waiting = locked(&actions).take().unwrap_or_default();
    for (_, waiting) in waiting.waiting {
        let error = ProviderError { class: ErrorClass::OutcomeUnknown, ..end.clone() };
        // The caller may have been dropped.
        let _ = waiting.outcome.send(Err(error));
    }
}

/// Passes events on, and returns how the stream ended.
async fn events(
    connection: &Connection,
    actions: &Actions,
    requests: impl Stream<Item = proto::ApplyRequests> + Send + 'static,
) -> ProviderError {
    let mut rpc = connection.rpc.clone();
    let mut events = match rpc.apply(requests).await {
        Ok(response) => response.into_inner(),
        Err(status) => return connection.failure(&status).await,
    };
    let mut empty = 0;
    loop {
        tokio::task::coop::consume_budget().await;
        match events.message().await {
            Ok(Some(message)) => {
                if let Err(error) = deliver_all(&connection.life, actions, message, &mut empty) {
                    return error;
                }
            }
            Ok(None) => {
                let text = format!("provider {} ended the stream of actions", connection.life.name());
                return ProviderError::new(ErrorClass::OutcomeUnknown, text);
            }
            Err(status) => return connection.failure(&status).await,
        }
    }
}

/// Passes the events of a message to their actions. `empty` counts the messages without events.
///
/// # Errors
/// When the message is a failure, and as [`deliver`].
fn deliver_all(
    life: &Life,
    actions: &Actions,
    message: proto::ApplyEvents,
    empty: &mut u32,
) -> Result<(), ProviderError> {
    let message = checked(life, message)?;
    *empty += u32::from(message.events.is_empty());
    if *empty > EVENTS {
        return Err(broken(life, format!("it sent more than {EVENTS} messages without events")));
    }
    message.events.into_iter().try_for_each(|event| deliver(life, actions, event))
}

/// Passes an event to its action.
///
/// # Errors
/// When no action was ever sent with its token, or an action sends too many events. Such a stream cannot be
/// trusted.
fn deliver(life: &Life, actions: &Actions, event: proto::ApplyEvent) -> Result<(), ProviderError> {
    let token = event.token;
    let waiting = match (event.event, locked(actions).as_mut()) {
        (_, None) => return Ok(()),
        (Some(Event::Done(_) | Event::Failed(_)), Some(table)) if table.over.contains(&token) => {
            tracing::warn!(provider = life.name(), token, "an action ended twice, or late");
            return Ok(());
        }
        (_, Some(table)) if table.over.contains(&token) => return Ok(()),
        (Some(Event::Done(applied)), Some(table)) => table.finish(&token).map(|waiting| {
            let outcome = Applied::try_from(applied).map_err(|error| ProviderError {
                class: ErrorClass::OutcomeUnknown,
                ..malformed(life, &error)
            });
            (waiting, outcome)
        }),
        (Some(Event::Failed(error)), Some(table)) => table.finish(&token).map(|waiting| {
            let error = ProviderError::try_from(error).unwrap_or_else(|error| ProviderError {
                class: ErrorClass::OutcomeUnknown,
                ..malformed(life, &error)
            });
            (waiting, Err(error))
        }),
        (event, Some(table)) => {
            let Some(waiting) = table.waiting.get_mut(&token) else {
                return Err(broken(
                    life,
                    format!("an event for an action that was never sent, token `{token}`"),
                ));
            };
            waiting.reported += 1;
            if waiting.reported > EVENTS {
                return Err(broken(life, format!("an action reported more than {EVENTS} events")));
            }
            if let Some(event) = passing(event) {
                waiting.events.send(event);
            }
            return Ok(());
        }
    };
    let Some((waiting, outcome)) = waiting else {
        return Err(broken(life, format!("the end of an action that was never sent, token `{token}`")));
    };
    // The caller may have been dropped.
    let _ = waiting.outcome.send(outcome);
    Ok(())
}

/// An error of a stream that cannot be trusted any more.
fn broken(life: &Life, text: String) -> ProviderError {
    let text = format!("provider {} broke the contract: {text}", life.name());
    ProviderError::new(ErrorClass::OutcomeUnknown, text)
}

#[cfg(test)]
mod tests;
