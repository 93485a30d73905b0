//! The ends of planning and of runs that do not end by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipway_engine::Stop;
use slipway_operations::{Environment, Error, Event, Observer};
use tokio::time::{Instant, sleep, sleep_until};

use super::{End, Pass};
use crate::configuration::Source;
use crate::status::{Problem, Reason};
use crate::threads::Slot;

/// How long a run has to give back the cluster after it was stopped.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// Planning of a cluster: the right to it, and its end.
#[derive(Debug)]
pub(super) struct Planning {
    slot: Slot,
    limit: Duration,
    end: Instant,
}

/// Whether a run has begun, so that steps may be in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Begun(Arc<AtomicBool>);

impl Begun {
    /// An environment whose runs are noticed.
    pub fn watching(&self, environment: &Environment) -> Environment {
        let follow = Watching { begun: self.clone(), observer: environment.observer.clone() };
        environment.clone().observed_by(Arc::new(follow))
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notices the beginning of a run for [`Begun`], and hands everything on.
struct Watching {
    begun: Begun,
    observer: Arc<dyn Observer>,
}

impl Observer for Watching {
    fn event(&self, event: Event) {
        if matches!(event, Event::RunBegins(_)) {
            self.begun.0.store(true, Ordering::Relaxed);
        }
        self.observer.event(event);
    }

    fn called(&self, provider: &str, is_done: bool) {
        self.observer.called(provider, is_done);
    }
}

impl Planning {
    /// Does what belongs to the plan that was made, on a thread and without a limit.
    ///
    /// # Errors
    /// As the work says, and when it has no result.
    pub(super) async fn run<T, W>(&self, work: impl FnOnce() -> W + Send + 'static) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Error>>,
    {
        let done = self.slot.run(work).await;
        done.unwrap_or_else(|lost| Err(Error::internal("the plan was not stored", lost)))
    }
}

impl Pass {
    /// Begins to plan a cluster of a source, as soon as the source has a thread for it. Its time counts from then: what takes long in
    /// other clusters of the source is not its fault.
    ///
    /// # Errors
    /// The end of the look, when the controller stops, when no thread gets free within the limit of planning, or while earlier planning of
    /// the cluster goes on that was given up.
    pub(super) async fn begin_planning(&self, source: &Source) -> Result<Planning, End> {
        let limit = source.plan_limit(source.trust.is_some());
        let slots = self.shared.threads(source).plan;
        let slot = tokio::select! {
            biased;
            slot = slots.take(&self.cluster) => slot,
            () = self.stop.reached(Stop::Finish) => return Err(End::GivenUp),
            () = sleep(limit) => return Err(self.not_planned(&crate::Error::NoThread { limit })),
        };
        let end = Instant::now() + limit;
        slot.map(|slot| Planning { slot, limit, end }).ok_or_else(|| self.too_slow(limit))
    }

    /// Does a part of planning, on a thread. It writes nothing, so it is given up when the controller stops or the time is over. A part
    /// that keeps a processor busy goes on until it waits for something, and its result is not used.
    ///
    /// # Errors
    /// The end of the look, when it was given up.
    pub(super) async fn in_time<T, W>(
        &self,
        planning: &Planning,
        part: impl FnOnce() -> W + Send + 'static,
    ) -> Result<Result<T, Error>, End>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Error>>,
    {
        let part = Box::pin(planning.slot.run(part));
        tokio::select! {
            biased;
            done = part => Ok(done.unwrap_or_else(|lost| Err(Error::internal("the cluster was not planned", lost)))),
            () = self.stop.reached(Stop::Finish) => Err(End::GivenUp),
            () = sleep_until(planning.end) => Err(self.too_slow(planning.limit)),
        }
    }

    fn too_slow(&self, limit: Duration) -> End {
        self.not_planned(&crate::Error::PlanTimeout { limit })
    }

    fn not_planned(&self, error: &crate::Error) -> End {
        self.count_plan("failed");
        End::Fails(Reason::Failed, Problem::of_source(error))
    }

    /// Waits for the end of a run. `None` if it was abandoned after a stop: a run that has begun at the second signal only, one
    /// that is still being prepared at the first. The hold of an abandoned run ends with its lease.
    pub(super) async fn unless_stopped<T>(&self, begun: &Begun, run: impl Future<Output = T>) -> Option<T> {
        let abandoned = async {
            self.stop.reached(Stop::Finish).await;
            sleep(GIVE_BACK).await;
            if begun.is() {
                self.stop.reached(Stop::AtOnce).await;
                sleep(GIVE_BACK).await;
            }
        };
        let run = Box::pin(run);
        tokio::select! {
            biased;
            result = run => Some(result),
            () = abandoned => None,
        }
    }
}
