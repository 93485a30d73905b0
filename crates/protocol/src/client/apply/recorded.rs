//! A stream of actions as it was recorded, without a connection.

use std::sync::{Mutex, mpsc};

use slipway_resource::ProviderError;
use slipway_resource::provider::{Applied, ApplyEvent, EventSink};
use tokio::sync::oneshot;

use super::{Table, Waiting, deliver_all};
use crate::Life;
use crate::generated as proto;

/// The part of a stream that one action receives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The events before the end of the action, in their order.
    pub events: Vec<ApplyEvent>,
    /// The end of the action; `None` if the stream has none.
    pub outcome: Option<Result<Applied, ProviderError>>,
}

/// Reads messages as a session reads them that has sent one action with this token.
///
/// # Errors
/// When a message is a failure, or breaks the contract: the stream ends there.
pub fn recorded(token: &str, messages: Vec<proto::ApplyEvents>) -> Result<Recorded, ProviderError> {
    let (sender, mut outcome) = oneshot::channel();
    let (reported, events) = mpsc::channel();
    let sink = EventSink::new(move |event| {
        // The receiver lives as long as this function runs.
        let _ = reported.send(event);
    });
    let mut table = Table::default();
    table.waiting.insert(token.to_owned(), Waiting { events: sink, reported: 0, outcome: sender });
    let (life, actions) = (Life::unattended("recorded"), Mutex::new(Some(table)));
    let mut empty = 0;
    for message in messages {
        deliver_all(&life, &actions, message, &mut empty)?;
    }
    Ok(Recorded { events: events.try_iter().collect(), outcome: outcome.try_recv().ok() })
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Identity, Value};

    use super::*;
    use crate::generated::apply_event::Event;

    fn message(token: &str, events: Vec<Event>) -> proto::ApplyEvents {
        let event = |event| proto::ApplyEvent { token: token.to_owned(), event: Some(event) };
        proto::ApplyEvents { events: events.into_iter().map(event).collect(), error: None }
    }

    #[test]
    fn an_action_receives_its_events_and_its_end() {
        let applied = Applied::new(Identity::new("net-1"), Value::Null);
        let begun = message("t-1", vec![Event::Started(proto::Started {}), Event::Handle("h".to_owned())]);
        let done = message("t-1", vec![Event::Done(applied.clone().into())]);
        let read = recorded("t-1", vec![begun.clone(), done.clone()]).unwrap();
        assert_eq!(read.events, [ApplyEvent::Started, ApplyEvent::Handle("h".to_owned())]);
        assert_eq!(read.outcome, Some(Ok(applied)));
        assert_eq!(recorded("t-1", vec![begun]).unwrap().outcome, None);
        assert!(recorded("t-2", vec![done]).is_err(), "the token of no action");
    }
}
