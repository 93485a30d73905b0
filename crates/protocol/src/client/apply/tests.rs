use std::sync::atomic::{AtomicU32, Ordering};

use slipway_resource::{Identity, Value};

use super::*;

/// A stream with one action in progress, whose token is `known`.
struct Started {
    life: Life,
    actions: Arc<Actions>,
    outcome: oneshot::Receiver<Outcome>,
    /// How many events the action has received.
    received: Arc<AtomicU32>,
}

impl Started {
    fn new() -> Self {
        let (sender, outcome) = oneshot::channel();
        let received = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&received);
        let events = EventSink::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let mut table = Table::default();
        table.waiting.insert("known".to_owned(), Waiting { events, reported: 0, outcome: sender });
        let actions = Arc::new(Mutex::new(Some(table)));
        Self { life: Life::unattended("sim"), actions, outcome, received }
    }

    fn deliver(&self, token: &str, event: Option<Event>) -> Result<(), ProviderError> {
        deliver(&self.life, &self.actions, proto::ApplyEvent { token: token.to_owned(), event })
    }

    fn received(&self) -> u32 {
        self.received.load(Ordering::Relaxed)
    }
}

fn progress() -> Option<Event> {
    Some(Event::Progress("working".to_owned()))
}

fn done() -> Option<Event> {
    Some(Event::Done(Applied::new(Identity::new("net-1"), Value::default()).into()))
}

fn failed() -> Option<Event> {
    let error = ProviderError::new(ErrorClass::Permanent, "refused".to_owned());
    Some(Event::Failed(error.into()))
}

#[test]
fn an_event_for_an_action_that_was_never_sent_ends_the_stream() {
    for event in [progress(), Some(Event::Started(proto::Started {})), None, done(), failed()] {
        let mut stream = Started::new();
        let error = stream.deliver("666", event.clone()).unwrap_err();
        assert_eq!(error.class, ErrorClass::OutcomeUnknown, "{event:?}");
        for part in ["provider sim broke the contract", "never sent", "token `666`"] {
            assert!(error.message.contains(part), "{event:?}: {}", error.message);
        }
        // The action in progress has neither received the event nor ended.
        assert_eq!(stream.received(), 0, "{event:?}");
        assert!(stream.outcome.try_recv().is_err(), "{event:?}");
    }
}

#[test]
fn an_action_has_a_maximum_number_of_events() {
    let stream = Started::new();
    for _ in 0..EVENTS {
        stream.deliver("known", progress()).unwrap();
    }
    assert_eq!(stream.received(), EVENTS);
    let error = stream.deliver("known", progress()).unwrap_err();
    assert_eq!(error.class, ErrorClass::OutcomeUnknown);
    assert!(error.message.contains(&format!("more than {EVENTS} events")), "{}", error.message);
    assert_eq!(stream.received(), EVENTS, "the event over the limit is not passed on");
}

#[test]
fn late_events_of_an_ended_action_are_dropped() {
    let mut stream = Started::new();
    stream.deliver("known", done()).unwrap();
    let outcome = stream.outcome.try_recv().unwrap().unwrap();
    assert_eq!(outcome.identity, Some(Identity::new("net-1")));
    for event in [progress(), done(), failed(), None] {
        stream.deliver("known", event).unwrap();
    }
    assert_eq!(stream.received(), 0);
    assert!(stream.deliver("666", done()).is_err(), "the token of no action");
}

#[test]
fn a_failed_action_has_the_error_of_the_provider() {
    let mut stream = Started::new();
    stream.deliver("known", failed()).unwrap();
    let error = stream.outcome.try_recv().unwrap().unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Permanent, "refused"));
}
