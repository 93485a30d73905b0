//! The stream of actions: takes requests, runs them side by side, and tells their events.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use prost::Message;
use slipway_protocol::PAGE_BYTES;
use slipway_protocol::generated as proto;
use slipway_protocol::generated::apply_event::Event;
use slipway_resource::provider::{ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tonic::Streaming;

use crate::pages::Answers;
use crate::sessions::OpenSession;

/// How many events one message carries at most.
const EVENTS: usize = 512;

type Events = UnboundedSender<proto::ApplyEvent>;

/// Runs actions until the requests end; the answers end with the last action.
pub(crate) fn run(
    open: Arc<OpenSession>,
    first: Vec<proto::ApplyRequest>,
    requests: Streaming<proto::ApplyRequests>,
) -> Answers<proto::ApplyEvents> {
    let (events, queue) = mpsc::unbounded_channel();
    let tasks = open.tasks.clone();
    tasks.spawn(intake(open, first, requests, events));
    messages(queue)
}

async fn intake(
    open: Arc<OpenSession>,
    first: Vec<proto::ApplyRequest>,
    mut requests: Streaming<proto::ApplyRequests>,
    events: Events,
) {
    let mut batch = first;
    loop {
        for request in batch {
            // A full session leaves requests on the wire. A closed one begins nothing more.
            let Ok(slot) = Arc::clone(&open.slots).acquire_owned().await else {
                return;
            };
            let action = act(Arc::clone(&open), request, events.clone());
            open.tasks.spawn(async move {
                action.await;
                drop(slot);
            });
        }
        batch = match requests.message().await {
            Ok(Some(message)) => message.requests,
            Ok(None) => return,
            Err(status) => {
                tracing::debug!(%status, "the stream of actions broke");
                return;
            }
        };
    }
}

async fn act(open: Arc<OpenSession>, request: proto::ApplyRequest, events: Events) {
    let mut end = End { token: request.token.clone(), events: events.clone(), reported: false };
    let outcome = match ApplyRequest::try_from(request) {
        Ok(request) => {
            let sink = sink(end.token.clone(), events);
            open.session.apply(request, sink).await
        }
        Err(error) => Err(ProviderError::new(ErrorClass::Invalid, error.to_string())),
    };
    end.tell(match outcome {
        Ok(applied) => Event::Done(applied.into()),
        Err(error) => Event::Failed(error.into()),
    });
}

/// A sink that puts the events of one action onto the stream.
pub(crate) fn sink(token: String, events: Events) -> EventSink {
    EventSink::new(move |event| {
        // The client may have left; the action continues.
        let _ = events.send(proto::ApplyEvent { token: token.clone(), event: Some(event.into()) });
    })
}

/// Reports the end of an action, also when its code panics: its outcome is not known then.
struct End {
    token: String,
    events: Events,
    reported: bool,
}

impl End {
    fn tell(&mut self, event: Event) {
        self.reported = true;
        // The client may have left.
        let _ = self
            .events
            .send(proto::ApplyEvent { token: std::mem::take(&mut self.token), event: Some(event) });
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if !self.reported {
            let error =
                ProviderError::new(ErrorClass::OutcomeUnknown, "the provider failed inside an action");
            self.tell(Event::Failed(error.into()));
        }
    }
}

/// Messages of as many events as wait, and about [`PAGE_BYTES`].
fn messages(queue: UnboundedReceiver<proto::ApplyEvent>) -> Answers<proto::ApplyEvents> {
    stream::unfold(queue, |mut queue| async move {
        let first = queue.recv().await?;
        let mut bytes = first.encoded_len();
        let mut events = vec![first];
        while bytes < PAGE_BYTES
            && events.len() < EVENTS
            && let Ok(event) = queue.try_recv()
        {
            bytes += event.encoded_len();
            events.push(event);
        }
        let message = proto::ApplyEvents { events, error: None };
        Some((Ok(message), queue))
    })
    .boxed()
}
