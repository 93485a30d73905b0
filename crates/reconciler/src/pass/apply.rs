//! Applying a plan, by the policy of its cluster.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use slipway_engine::{Stop, StopSignal};
use slipway_operations::{
    Applied, Approvals, Decide, Declined, Environment, Error, Manner, Opened, Outcome, Request, Terms, bring,
    plans,
};
use slipway_plan::Plan;
use slipway_state_store::{ClusterName, read_head};

use super::limit::Begun;
use super::reconcile::{deletion, held_by};
use super::{End, Pass};
use crate::board;
use crate::configuration::{Apply, ClusterPolicy};
use crate::facts::Facts;
use crate::heads::Mark;
use crate::metrics::outcome;
use crate::policy::{Question, Verdict, Waiting, decide};
use crate::status::{LastApply, Problem, Reason, Status};

/// After how long a holder that does not renew its lease may be dead. One that lives renews it three times a minute.
const SILENCE: SignedDuration = SignedDuration::from_secs(30);

/// How many failed steps a message names.
const FAILURES: usize = 3;

impl Pass {
    /// Applies a plan: an approved one exactly as it is stored, any other one as the cluster has it now.
    ///
    /// The status says what is being applied before the run begins, so that a controller that starts after a crash goes on.
    pub(super) async fn apply(
        &self,
        environment: &Environment,
        opened: Option<&Arc<Opened>>,
        status: &mut Status,
        digest: &str,
    ) -> Result<End, Error> {
        // A pause that was written since the last look at the board counts.
        let board = board::read(&*self.shared.backend).await?;
        if let Some(pause) = board.pause(&self.cluster, Timestamp::now()) {
            let waiting = Waiting { until: pause.until, ..Waiting::new(Reason::Paused, pause.to_string()) };
            return Ok(End::Waits(waiting));
        }
        // So does a deletion since the cluster was planned.
        let name = ClusterName::new(self.cluster.as_str())?;
        let head = read_head(&*self.shared.backend, &name).await?;
        if let Some(end) = head.as_ref().and_then(|(head, _)| deletion(head)) {
            return Ok(end);
        }
        if self.stop.level() != Stop::No {
            return Ok(End::Stopped);
        }
        let now = Timestamp::now();
        let is_silent = is_silent(status, now);
        let is_resumed = status.applying.is_some();
        let turn = status.rollout.clone();
        if opened.is_some() {
            status.take_turn();
        }
        status.applying = Some(digest.to_owned());
        // A stored plan was made from an earlier revision; any other run brings what the present one says.
        if opened.is_some() || !is_resumed {
            status.applying_revision = Some(status.revision.clone());
        }
        status.next = None;
        status.tell(Reason::Applying, "the plan is being applied", now);
        self.write(status).await?;
        let begun = Instant::now();
        // The run takes an epoch, and makes a generation.
        *self.mark.borrow_mut() = None;
        let run_begun = Begun::default();
        let run = AsDecided {
            environment: run_begun.watching(environment),
            opened: opened.filter(|_| self.policy.apply != Apply::Approved).cloned(),
            reference: format!("{}/{}", self.cluster, digest.trim_start_matches("sha256:")),
            terms: self.terms(is_silent || is_resumed),
            decide: ByPolicy {
                policy: self.policy.clone(),
                stop: self.stop.clone(),
                is_resumed,
                waiting: RefCell::default(),
            },
        };
        let run = self.shared.run_threads.run_async(move || run.execute());
        let Some(ended) = self.unless_stopped(&run_begun, run).await else {
            return Ok(End::Stopped);
        };
        self.shared.metrics.apply_seconds.observe(begun.elapsed().as_secs_f64());
        let (result, waiting) =
            ended.unwrap_or_else(|lost| (Err(Error::internal("the run has no result", lost)), None));
        match (result, waiting) {
            (Err(_), Some(waiting)) => {
                status.applying = None;
                status.rollout = turn;
                // The run took an epoch and nothing else. Without a mark, the head would count as changed by a person.
                let head = read_head(&*self.shared.backend, &name).await?.map(|(head, _)| head);
                *self.mark.borrow_mut() = Some(Mark::of(head.as_ref()));
                Ok(End::Waits(waiting))
            }
            (Err(error), None) => {
                self.count("failed");
                if held_by(&error).is_some() {
                    // No run has begun.
                    status.rollout = turn;
                    if !is_resumed {
                        // The next look is not about a run of this controller: drift and windows are decided about again.
                        (status.applying, status.applying_revision) = (None, None);
                    }
                }
                if self.stop.level() != Stop::No {
                    return Ok(End::Stopped);
                }
                Err(error)
            }
            (Ok(ended), _) => Ok(self.ended(ended, status, begun)),
        }
    }

    /// The terms of a run. A holder that is silent may be dead: it is replaced at the end of its lease.
    fn terms(&self, is_patient: bool) -> Terms {
        let is_approved = self.policy.apply == Apply::Approved;
        Terms {
            wait: is_patient.then(|| self.shared.takeover()),
            approvals: Approvals {
                needed: if is_approved { self.policy.approvals } else { 0 },
                by_other: is_approved,
            },
            infrastructure_only: false,
        }
    }

    fn ended(&self, ended: Outcome, status: &mut Status, begun: Instant) -> End {
        match ended {
            Outcome::Nothing => End::InSync,
            Outcome::Undecided(plan) => {
                let message = format!("{} resources could not be read", Facts::of(&plan).deferred);
                End::Fails(Reason::Failed, Problem { code: None, message, hints: Vec::new() })
            }
            Outcome::Completed(applied) | Outcome::Applied(applied) if applied.is_complete() => {
                self.count("complete");
                status.applied = Some(LastApply {
                    digest: applied
                        .plan
                        .digest()
                        .map(|digest| digest.as_str().to_owned())
                        .unwrap_or_default(),
                    generation: applied.report.generation.map(|generation| generation.0),
                    when: Timestamp::now(),
                    seconds: begun.elapsed().as_secs(),
                    revision: status.applying_revision.take().unwrap_or_else(|| status.revision.clone()),
                });
                if let Some(plan) = &mut status.plan {
                    // What was planned is done.
                    plan.facts = Facts::default();
                }
                End::InSync
            }
            Outcome::Completed(applied) | Outcome::Applied(applied) => {
                self.count("incomplete");
                if applied.report.stopped {
                    End::Stopped
                } else {
                    End::Fails(Reason::Failed, failed(&applied))
                }
            }
        }
    }

    fn count(&self, how: &str) {
        self.shared.metrics.applies.get_or_create(&outcome(how)).inc();
    }
}

/// Whether the holder of a cluster may be dead.
pub(super) fn is_silent(status: &Status, now: Timestamp) -> bool {
    status.held.as_ref().is_some_and(|held| now.duration_since(held.since) > SILENCE)
}

/// What stopped a run before its end.
fn failed(applied: &Applied) -> Problem {
    let report = &applied.report;
    let mut parts: Vec<String> = report
        .failures
        .iter()
        .take(FAILURES)
        .map(|failure| {
            let step = applied.plan.steps.get(failure.step.index());
            let what =
                step.map_or_else(String::new, |step| format!("{} {}: ", step.action.verb(), step.address));
            format!("{what}{} ({})", failure.error.message, failure.error.class)
        })
        .collect();
    if report.failures.len() > FAILURES {
        parts.push(format!("{} more steps failed", report.failures.len() - FAILURES));
    }
    if report.not_begun > 0 {
        parts.push(format!("{} steps did not begin", report.not_begun));
    }
    if !report.unresolved.is_empty() {
        parts.push(format!("the result of {} steps is not known", report.unresolved.len()));
    }
    let hints =
        report.failures.iter().filter_map(|failure| failure.error.hint.clone()).take(FAILURES).collect();
    Problem { code: None, message: format!("the run is not complete: {}", parts.join("; ")), hints }
}

/// A run, as it is executed on a thread: it plans again under the hold, or checks what was saved, and that may take long.
struct AsDecided {
    environment: Environment,
    /// The cluster as it is brought in line with its spec; without it, a stored plan is carried out.
    opened: Option<Arc<Opened>>,
    /// The place of the stored plan.
    reference: String,
    terms: Terms,
    decide: ByPolicy,
}

impl AsDecided {
    /// Executes it. Returns also why the policy did not apply the plan.
    async fn execute(self) -> (Result<Outcome, Error>, Option<Waiting>) {
        let Self { environment, opened, reference, terms, decide } = self;
        let manner = Manner { terms: &terms, decide: &decide, stop: decide.stop.clone() };
        let result = match opened {
            Some(opened) => bring(&environment, &*opened, &Request::apply(), manner).await,
            None => match plans::stored(&environment, &reference).await {
                Ok(saved) => saved.apply(&environment, manner).await,
                Err(error) => Err(error),
            },
        };
        (result, decide.waiting.take())
    }
}

/// Approves a plan if the policy applies it. The plan under the hold may be another one than the one before.
struct ByPolicy {
    policy: ClusterPolicy,
    stop: StopSignal,
    /// Whether the run was begun before: then drift and windows were decided about.
    is_resumed: bool,
    waiting: RefCell<Option<Waiting>>,
}

/// The policy does not apply the plan.
#[derive(Debug, thiserror::Error)]
#[error("the policy does not apply the plan now")]
struct NotNow;

#[async_trait(?Send)]
impl Decide for ByPolicy {
    async fn approve(&self, plan: &Plan) -> Result<(), Declined> {
        if self.stop.level() != Stop::No {
            return Err(Declined::failed(NotNow));
        }
        let facts = Facts::of(plan);
        let question = Question {
            policy: &self.policy,
            facts: &facts,
            place: "PLANFILE",
            // A pause was looked for right before the run.
            pause: None,
            // The approvals of this plan were counted by the operation.
            approvals: usize::from(u16::MAX),
            now: Timestamp::now(),
        };
        match decide(question) {
            Verdict::Wait(waiting) if !(self.is_resumed && is_decided(waiting.reason)) => {
                *self.waiting.borrow_mut() = Some(waiting);
                Err(Declined::failed(NotNow))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a reason was decided about when a run began.
fn is_decided(reason: Reason) -> bool {
    matches!(reason, Reason::OutsideWindow | Reason::Frozen | Reason::Drifted)
}
