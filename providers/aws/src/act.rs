//! One action under way: whom it is for, until when, and how it is asked to stop.

use std::time::Duration;

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{Action, ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};
use tokio::time::Instant;

use crate::cloud::Cloud;
use crate::error::error;
use crate::owner::{self, Tags};
use crate::peers::{Busy, Table};

/// How long an action may take when nobody says.
const LIMIT: Duration = Duration::from_secs(1800);
/// The first wait between two looks.
const FIRST: Duration = Duration::from_millis(100);
/// No wait between two looks is longer.
const LONGEST: Duration = Duration::from_millis(6_400);

/// One action under way.
pub(crate) struct Act<'a> {
    /// Where.
    pub cloud: &'a Cloud,
    /// What was asked for.
    pub request: &'a ApplyRequest,
    /// Who hears of it.
    pub events: &'a EventSink,
    /// Until when it may take.
    pub deadline: Instant,
    ticket: Ticket<'a>,
    /// It may change something that others look at as well.
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
        // A gate may take hours, and nobody waits for its end to look.
        let busy = (!matches!(request.action, Action::Operation { .. }))
            .then(|| cloud.shared::<Table>().of(request.ownership.address.kind()).begin());
        Self { cloud, request, events, deadline: Instant::now() + limit, ticket, busy }
    }

    /// The cloud for reads that only confirm: they share their calls with those of actions that run side by side.
    pub fn patient(&self) -> Cloud {
        self.cloud.patient(self.busy.as_ref().map(|busy| busy.peers().clone()))
    }

    /// Waits for something; meanwhile nobody waits for this action.
    pub async fn rest<T>(&self, wait: impl Future<Output = T>) -> T {
        let _rest = self.busy.as_ref().map(Busy::rest);
        wait.await
    }

    /// Whether this looks for what another tool made: then what nobody owns is looked for.
    pub fn takes_over(&self) -> bool {
        self.request.ownership.uid.as_str().is_empty()
    }

    /// The tags of a creating call: those that are wanted, and those that say whose it is.
    pub fn tags(&self, desired: &Value) -> Tags {
        let mut tags = owner::wanted(desired);
        tags.extend(self.marks());
        tags
    }

    /// The tags that say whose it is.
    pub fn marks(&self) -> Tags {
        owner::marks(&self.request.ownership, Some(&self.request.token))
    }

    /// The client token of a creating call: of at most 64 characters, and the same for each attempt.
    pub fn client_token(&self) -> String {
        self.request.token.as_str().chars().take(64).collect()
    }

    /// Tells the object's identity.
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

    /// Waits before the next look at something that is not there yet.
    ///
    /// # Errors
    /// `cancelled` when it was asked to stop; `outcome-unknown` with what it waited for when the time is over.
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

/// Growing waits between looks. Those of different actions end at the same moments, so that their looks share calls.
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

    /// Waits that grow faster, for what takes minutes.
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
