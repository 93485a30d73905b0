//! One look at one cluster: read its status, plan, decide, apply, write its status.

mod apply;
mod limit;
mod order;
mod reconcile;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use slipway_engine::{StopSignal, trace};
use slipway_state_store::{ClusterName, Error as StoreError, controllers, read_head};
use tracing::Instrument as _;

use crate::board::Pause;
use crate::configuration::ClusterPolicy;
use crate::entry::Place;
use crate::heads::Mark;
use crate::metrics::outcome;
use crate::notify::Notice;
use crate::order::{Order, Wait};
use crate::ownership;
use crate::policy::Waiting;
use crate::shared::Shared;
use crate::status::{Problem, Reason, Status};

/// How long the status of another controller keeps this one from the cluster.
const FOREIGN: SignedDuration = SignedDuration::from_hours(1);

/// A look at a cluster.
pub(crate) struct Pass {
    pub shared: Shared,
    pub cluster: String,
    /// Where its spec is; `None` if no source has it.
    pub place: Option<Place>,
    /// Why nothing is applied.
    pub blocked: Option<(Reason, Problem)>,
    pub policy: ClusterPolicy,
    pub pause: Option<Pause>,
    /// The order among clusters, if the source of this one has one.
    pub order: Option<Arc<Order>>,
    /// The cluster that it waits for, if that is another one than its status says.
    pub wait: Option<Wait>,
    /// The number of the last request for the cluster.
    pub request: u64,
    /// Whether the cluster is planned although its status says that it is not due.
    pub forced: bool,
    /// The head as the last look found it, and then as this one does. `None` if that is not known, as after a run.
    pub mark: RefCell<Option<Mark>>,
    pub stop: StopSignal,
}

/// The result of a look.
pub(crate) struct Passed {
    /// The status as it is stored now; `None` if it could not be read or written.
    pub status: Option<Status>,
    /// How long until the next look.
    pub wait: Duration,
    /// Whether the cluster is gone, and the controller can forget it.
    pub is_gone: bool,
    /// Whether its source has to be read before it can be planned.
    pub is_outdated: bool,
}

impl Passed {
    /// A look that has written nothing, or the status that it has written.
    fn new(status: Option<Status>, wait: Duration) -> Self {
        Self { status, wait, is_gone: false, is_outdated: false }
    }
}

/// How a look ended.
enum End {
    /// The cluster is as its spec.
    InSync,
    /// There are changes, and they wait.
    Waits(Waiting),
    /// Another process holds the cluster.
    Held(String),
    /// The attempt failed, and is repeated after a while.
    Fails(Reason, Problem),
    /// The run stopped before its end because the controller ends.
    Stopped,
    /// The cluster was not planned to the end because the controller ends.
    GivenUp,
    /// The cluster was not planned: the files of its spec are not those of the revision any more.
    Outdated,
}

impl End {
    fn waits(reason: Reason, message: impl Into<String>) -> Self {
        Self::Waits(Waiting::new(reason, message))
    }
}

impl Pass {
    /// Looks at the cluster. It never fails: what goes wrong is in the status, or is tried again.
    pub async fn run(&self) -> Passed {
        let span = trace::pass(&self.cluster);
        let attempted = Box::pin(self.attempt().instrument(span.clone())).await;
        let status = attempted.as_ref().ok().and_then(|passed| passed.status.as_ref());
        if let Some(ready) = status.and_then(Status::ready) {
            span.record("reason", ready.reason.as_str());
        }
        match attempted {
            Ok(passed) => passed,
            Err(error) => {
                tracing::warn!(cluster = self.cluster, %error, "the state store cannot be used");
                let wait = self.shared.configuration.retry.wait(1, &self.cluster);
                Passed::new(None, wait)
            }
        }
    }

    async fn attempt(&self) -> Result<Passed, StoreError> {
        let name = ClusterName::new(self.cluster.as_str())?;
        let key = controllers::status(&name);
        let found: Option<Status> = controllers::read(&*self.shared.backend, &key).await?;
        let own = &self.shared.configuration.name;
        let now = Timestamp::now();
        if let Some(status) = found.as_ref().filter(|status| status.controller != *own) {
            let is_recent = status.checked.is_some_and(|checked| now.duration_since(checked) < FOREIGN);
            if is_recent || self.place.is_none() {
                let other = &status.controller;
                tracing::warn!(cluster = self.cluster, other, "another controller works on the cluster");
                let passed = Passed::new(None, self.policy.drift_interval);
                return Ok(Passed { is_gone: self.place.is_none(), ..passed });
            }
        }
        let before = found.unwrap_or_default();
        let mut status = before.clone();
        status.cluster.clone_from(&self.cluster);
        status.controller.clone_from(own);
        let (place, blocked) = self.place_of(&before);
        let is_due = self.take_place(place, &mut status, now);
        let end = match (place, &blocked) {
            (None, None) => {
                let head = read_head(&*self.shared.backend, &name).await?.map(|(head, _)| head);
                *self.mark.borrow_mut() = Some(Mark::of(head.as_ref()));
                if head.is_none_or(|head| head.deleted) {
                    controllers::forget(&*self.shared.backend, &name).await?;
                    tracing::info!(
                        cluster = self.cluster,
                        "neither a spec nor a cluster of this name exists"
                    );
                    return Ok(Passed { is_gone: true, ..Passed::new(None, Duration::ZERO) });
                }
                let hint = format!("write the spec again, or run `slipway delete {}`", self.cluster);
                let message =
                    "the spec is not in the source any more; nothing is deleted because of that".to_owned();
                End::Fails(Reason::SpecVanished, Problem { code: None, message, hints: vec![hint] })
            }
            (_, Some((reason, problem))) => End::Fails(*reason, problem.clone()),
            (Some(_), None) if !is_due => return self.leave(before, now).await,
            (Some(place), None) => Box::pin(self.reconcile(place, &mut status)).await?,
        };
        if matches!(end, End::GivenUp) && status.applied == before.applied {
            // The next process plans the cluster: its status is as before.
            return Ok(Passed::new(None, Duration::ZERO));
        }
        if matches!(end, End::Outdated) {
            // The status is as before until the source was read.
            let passed = Passed::new(None, self.shared.configuration.retry.first);
            return Ok(Passed { is_outdated: true, ..passed });
        }
        let wait = self.finish(&mut status, end);
        let is_told = !self.shared.notices.is_empty() && status.tell_receivers();
        if status != before {
            self.write(&status).await?;
        }
        if is_told {
            self.shared.notices.tell(&Notice::of(&status, Timestamp::now()));
        }
        Ok(Passed::new(Some(status), wait))
    }

    /// Where the spec is, and why nothing is applied. Another replica may have written since to which source the cluster belongs.
    fn place_of(&self, before: &Status) -> (Option<&Place>, Option<(Reason, Problem)>) {
        let Some(place) = &self.place else { return (None, self.blocked.clone()) };
        match ownership::refusal(&self.shared.configuration, &self.cluster, &before.source, place.source) {
            Some(refusal) => (None, Some(refusal)),
            None => (Some(place), self.blocked.clone()),
        }
    }

    /// Writes into a status where the spec is. Returns whether the cluster has to be planned.
    fn take_place(&self, place: Option<&Place>, status: &mut Status, now: Timestamp) -> bool {
        let is_moved = self.take_wave(status);
        let mut is_due = self.forced || is_moved || status.next.is_none_or(|next| next <= now);
        if let Some(place) = place {
            let source = self.shared.configuration.sources.get(place.source);
            let source = source.map_or_else(String::new, |source| source.name.clone());
            let is_new = status.spec_digest != place.digest || status.source != source;
            if is_new || self.request > status.request {
                status.failures = 0;
                is_due = true;
            }
            // A spec that came back as it was has the digest of the last plan.
            is_due |= status.is_about_spec() || status.apply != self.policy.apply.word();
            status.source = source;
            status.path.clone_from(&place.path);
            status.revision.clone_from(&place.revision);
            status.spec_digest.clone_from(&place.digest);
        }
        status.request = status.request.max(self.request);
        status.apply = self.policy.apply.word().to_owned();
        is_due
    }

    /// Stores a status, and shows it. What another replica has written meanwhile is replaced.
    async fn write(&self, status: &Status) -> Result<(), StoreError> {
        let key = controllers::status(&ClusterName::new(self.cluster.as_str())?);
        let wanted = |found: Option<Status>| (found.as_ref() != Some(status)).then(|| status.clone());
        controllers::change(&self.shared.backend, &key, wanted).await?;
        self.shared.show(status);
        Ok(())
    }

    /// Writes the end into the status. Returns how long until the next look.
    fn finish(&self, status: &mut Status, end: End) -> Duration {
        let now = Timestamp::now();
        let interval = self.policy.drift_interval;
        let retry = self.shared.configuration.retry;
        status.problem = None;
        let (reason, message, wait) = match end {
            End::InSync => {
                status.failures = 0;
                status.applying = None;
                status.take_turn();
                (Reason::InSync, "the cluster is as its spec".to_owned(), interval)
            }
            End::Waits(waiting) => {
                status.failures = 0;
                let opens = waiting.until.map_or(interval, |moment| until(moment, now));
                (waiting.reason, waiting.message, interval.min(opens))
            }
            End::Held(message) => (Reason::Held, message, retry.first),
            End::Outdated => {
                let message = "the files of the spec have changed since the source was read".to_owned();
                (Reason::SourceProblem, message, retry.first)
            }
            End::Stopped | End::GivenUp => (
                Reason::Stopped,
                "the controller was stopped; the run goes on with the next one".to_owned(),
                Duration::ZERO,
            ),
            End::Fails(reason, problem) => {
                let is_fault = matches!(reason, Reason::Failed);
                status.failures = if is_fault { status.failures.saturating_add(1) } else { 0 };
                let wait = if is_fault { retry.wait(status.failures, &self.cluster) } else { interval };
                let message = problem.message.clone();
                status.problem = Some(problem);
                (reason, message, wait)
            }
        };
        status.next = now.checked_add(wait).ok();
        self.report(status, reason, message, now);
        wait
    }

    /// Sets the conditions, and logs what was not known before.
    fn report(&self, status: &mut Status, reason: Reason, message: String, now: Timestamp) {
        let failures = &self.shared.metrics.failures;
        let code = status.problem.as_ref().map(|problem| problem.code_or(reason));
        if let Some(code) = &code {
            failures.get_or_create(&[("code", code.clone())]).inc();
        }
        let is_new = status.tell(reason, message.as_str(), now);
        let (cluster, reason) = (self.cluster.as_str(), reason.word());
        match (is_new, code) {
            (true, Some(code)) => tracing::warn!(cluster, reason, code, "{message}"),
            (true, None) => tracing::info!(cluster, reason, "{message}"),
            (false, _) => tracing::debug!(cluster, reason, "{message}"),
        }
    }

    fn count_plan(&self, how: &str) {
        self.shared.metrics.plans.get_or_create(&outcome(how)).inc();
    }
}

/// The time until a moment; nothing for one that is past.
fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or_default()
}
