//! How a run ended.

use std::time::Duration;

use slipway_plan::StepId;
use slipway_resource::ProviderError;
use slipway_state_store::Generation;

use crate::recover::Unresolved;

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many steps are done.
    pub done: usize,
    /// How many steps were done already by an earlier run of the same plan.
    pub done_before: usize,
    /// The steps that failed, in the order in which they did.
    pub failures: Vec<StepFailure>,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Steps that never began.
    pub not_begun: usize,
    /// Steps that were under way when the run ended at once: the next run finds out what became of them.
    pub under_way: usize,
    /// Interrupted steps of earlier runs whose result is still not known: their resources were left alone.
    pub unresolved: Vec<Unresolved>,
    /// The state's generation that it committed, if it did.
    pub generation: Option<Generation>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A step that failed.
#[derive(Clone, Debug)]
pub struct StepFailure {
    /// The step.
    pub step: StepId,
    /// Why.
    pub error: ProviderError,
    /// Steps that wait for it, directly or not, and so never began.
    pub blocked: Vec<StepId>,
}

impl Report {
    /// Whether every step is done, those of interrupted runs included.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty() && !self.stopped && self.not_begun == 0 && self.unresolved.is_empty()
    }
}
