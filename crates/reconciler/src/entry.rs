//! A cluster as the controller knows it: where its spec is, what is wrong with that, and when it is looked at next.

use std::sync::Arc;

use slipway_engine::StopSignal;
use tokio::time::Instant;

use crate::board::Board;
use crate::heads::Mark;
use crate::order::Wait;
use crate::source::Checkout;
use crate::status::{LastPlan, Problem, Reason, Status};

/// Where the spec of a cluster is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The number of the source in the configuration.
    pub source: usize,
    /// The path in the source.
    pub path: String,
    /// The digest of the files in the path.
    pub digest: String,
    /// The revision of the source.
    pub revision: String,
    /// The folder of the revision.
    pub folder: Arc<Checkout>,
}

/// A cluster.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its spec; `None` if no source has it, or its source was not read yet.
    pub place: Option<Place>,
    /// Why nothing is applied.
    pub blocked: Option<(Reason, Problem)>,
    /// The status that was written last.
    pub status: Option<Status>,
    /// Whether its source was looked at, so that a missing spec says something.
    pub is_known: bool,
    /// Whether this replica works on it.
    pub is_mine: bool,
    /// When it is looked at next.
    pub due: Instant,
    /// Whether it is looked at then whatever its status says.
    pub forced: bool,
    /// The cluster that it waits for, if its status has to name it.
    pub wait: Option<Wait>,
    /// The head as the last look found it; `None` if it did not read it.
    pub mark: Option<Mark>,
    /// The signal that stops its job, while one runs.
    pub running: Option<StopSignal>,
}

impl Entry {
    pub fn new(due: Instant, is_mine: bool) -> Self {
        Self {
            place: None,
            blocked: None,
            status: None,
            is_known: false,
            is_mine,
            due,
            forced: false,
            wait: None,
            mark: None,
            running: None,
        }
    }

    /// Whether this replica may look at it when it is due.
    pub fn is_waiting(&self) -> bool {
        self.is_known && self.is_mine && self.running.is_none()
    }

    /// Lets it be looked at now.
    pub fn wake(&mut self, now: Instant) {
        self.due = self.due.min(now);
        self.forced = true;
    }

    /// Whether the board has something that the last look did not know.
    pub fn is_asked(&self, cluster: &str, board: &Board, now: jiff::Timestamp) -> bool {
        let Some(status) = &self.status else { return false };
        let is_resumed = status.is(Reason::Paused) && board.pause(cluster, now).is_none();
        board.request(cluster) > status.request || is_resumed
    }

    /// The plan that waits for approvals.
    pub fn awaits_approval(&self) -> Option<&LastPlan> {
        let status = self.status.as_ref().filter(|status| status.is(Reason::ApprovalNeeded))?;
        status.plan.as_ref()
    }
}
