//! One running action: its request, its deadline, and its stop signal.

use std::time::Duration;

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};
use tokio::time::Instant;

use crate::cloud::Cloud;
use crate::error::error;
use crate::owner::{self, Tags};
use crate::peers::{Busy, Table};

/// The default time limit of an action.
const LIMIT: Duration = Duration::from_secs(1800);
/// The first pause between two reads.
const FIRST: Duration = Duration::from_millis(100);
/// The longest pause between two reads.
const LONGEST: Duration = Duration::from_millis(6_400);

/// One running action.
pub(crate) struct Act<'a> {
    /// The account and region.
    pub cloud: &'a Cloud,
    /// The request.
    pub request: &'a ApplyRequest,
    /// The receiver of events.
    pub events: &'a EventSink,
    /// The deadline of the action.
    pub deadline: Instant,
    ticket: Ticket<'a>,
    /// Marks the action as busy: it may change objects that other actions read as well.
    busy: Option<Busy>,
}

impl<'a> Act<'a> {
    /// Begins an action.
    pub fn new(
        cloud: &'a Cloud,
        request: &'a ApplyRequest,
        events: &'a EventSink,
        ticket: Ticket<'a>,
    ) -> Self {
        let limit = match request.timeout_ms {
            0 => LIMIT,
            milliseconds => Duration::from_millis(milliseconds),
        };
        // A gate may take hours, so other actions do not wait for its reads.
        let busy = (!matches!(request.action, Action::Operation { .. }))
            .then(|| cloud.shared::<Table>().of(request.ownership.address.kind()).begin());
        Self { cloud, request, events, deadline: Instant::now() + limit, ticket, busy }
    }

    /// The cloud for confirming reads: they share their calls with those of parallel actions.
    pub fn patient(&self) -> Cloud {
        self.cloud.patient(self.busy.as_ref().map(|busy| busy.peers().clone()))
    }

    /// Waits for a future; meanwhile other actions do not wait for this one.
    pub async fn rest<T>(&self, wait: impl Future<Output = T>) -> T {
        let _rest = self.busy.as_ref().map(Busy::rest);
        wait.await
    }

    /// Whether this action adopts objects of another tool: then it looks for objects without an owner.
    pub fn takes_over(&self) -> bool {
        self.request.ownership.uid.as_str().is_empty()
    }

    /// The tags of a creating call: the desired ones, and the ownership tags.
    pub fn tags(&self, desired: &Value) -> Tags {
        let mut tags = owner::wanted(desired);
        tags.extend(self.marks());
        tags
    }

    /// The ownership tags.
    pub fn marks(&self) -> Tags {
        owner::marks(&self.request.ownership, Some(&self.request.token))
    }

    /// The client token of a creating call: of at most 64 characters, and the same for each attempt.
    pub fn client_token(&self) -> String {
        self.request.token.as_str().chars().take(64).collect()
    }

    /// Reports the object's identity.
    pub fn announce(&self, identity: &Identity) {
        self.events.send(ApplyEvent::Identity(identity.clone()));
    }

    /// Tells people something.
    pub fn progress(&self, text: impl Into<String>) {
        self.events.send(ApplyEvent::Progress(text.into()));
    }

    /// Stops here when the action was asked to.
    ///
    /// # Errors
    /// `cancelled`, or `outcome-unknown` when the time is over.
    pub fn check(&self) -> Result<(), ProviderError> {
        if self.ticket.is_stopped() { Err(stopped()) } else { Ok(()) }
    }

    /// Waits before the next read of an object that is not as expected yet.
    ///
    /// # Errors
    /// `cancelled` when the action was asked to stop; `outcome-unknown` with `what` when the time is over.
    pub async fn pause(&self, wait: &mut Wait, what: &str) -> Result<(), ProviderError> {
        let until = wait.next(self.cloud.started());
        if until >= self.deadline.min(wait.end) {
            return Err(error(ErrorClass::OutcomeUnknown, format!("{what} within the time given")));
        }
        let waited = self.rest(self.ticket.unless_stopped(tokio::time::sleep_until(until))).await;
        waited.map_err(|_| stopped())
    }
}

fn stopped() -> ProviderError {
    error(ErrorClass::Cancelled, "stopped on request")
}

/// Growing pauses between reads. Pauses of different actions end at the same moments, so that their reads
/// share calls.
#[derive(Debug)]
pub(crate) struct Wait {
    next: Duration,
    end: Instant,
}

impl Wait {
    /// Waits that end after a time.
    pub fn for_at_most(limit: Duration) -> Self {
        Self { next: FIRST, end: Instant::now() + limit }
    }

    /// Pauses that grow faster, for waits of minutes.
    pub fn for_minutes(limit: Duration) -> Self {
        Self { next: FIRST * 8, end: Instant::now() + limit }
    }

    /// When to look again.
    fn next(&mut self, started: Instant) -> Instant {
        let step = self.next;
        self.next = (step * 2).min(LONGEST);
        let (step, elapsed) = (step.as_millis(), started.elapsed().as_millis());
        let until = (elapsed + step).next_multiple_of(step.max(1));
        started + Duration::from_millis(u64::try_from(until).unwrap_or(u64::MAX))
    }
}
