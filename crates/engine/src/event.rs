//! Events of a run, for users and tests.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use slipway_plan::StepId;
use slipway_resource::ProviderError;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A step begins.
    Started(StepId),
    /// A progress message of its provider.
    Progress(StepId, String),
    /// It failed in a way that may pass, and is tried again.
    Retrying {
        /// The step.
        step: StepId,
        /// Why.
        error: ProviderError,
        /// After how long.
        delay: Duration,
    },
    /// It is done.
    Done(StepId, Duration),
    /// It was done in an earlier run of the same plan.
    DoneBefore(StepId),
    /// It failed.
    Failed(StepId, ProviderError),
    /// No new steps begin any more.
    Stopping,
}

/// Takes events; never blocks.
#[derive(Clone)]
pub struct EventHandler(Arc<dyn Fn(Event) + Send + Sync>);

impl EventHandler {
    /// A handler that calls a function.
    pub fn new(take: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// A handler that forgets.
    #[must_use]
    pub fn discard() -> Self {
        Self::new(|_| {})
    }

    /// Hands an event over.
    pub fn send(&self, event: Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for EventHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EventHandler")
    }
}
