//! The ends of planning and of runs that do not end by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipway_engine::Stop;
use slipway_operations::{Environment, Error, Event};
use tokio::time::{Instant, sleep, sleep_until};

use super::{End, Pass};
use crate::status::{Problem, Reason};

/// How long a run has to give back the cluster after it was told to stop.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// The end of planning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    limit: Duration,
    at: Instant,
}

impl Deadline {
    /// The end of planning that begins now and may take this long.
    pub fn after(limit: Duration) -> Self {
        Self { limit, at: Instant::now() + limit }
    }

    /// The end of planning that begins now and may take as long.
    pub fn again(self) -> Self {
        Self::after(self.limit)
    }
}

/// Whether a run has begun, so that steps may be in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Begun(Arc<AtomicBool>);

impl Begun {
    /// An environment whose runs are noticed.
    pub fn watching(&self, environment: &Environment) -> Environment {
        let (begun, observer) = (self.0.clone(), environment.observer.clone());
        let follow = move |event: Event| {
            if matches!(event, Event::RunBegins(_)) {
                begun.store(true, Ordering::Relaxed);
            }
            observer.event(event);
        };
        environment.clone().observed_by(Arc::new(follow))
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Pass {
    /// Does a part of planning. It writes nothing, so it is given up when the controller stops or the time is over.
    ///
    /// # Errors
    /// The end of the look, when it was given up.
    pub(super) async fn in_time<T>(
        &self,
        deadline: Deadline,
        part: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, End> {
        let part = Box::pin(part);
        tokio::select! {
            biased;
            done = part => Ok(done),
            () = self.stop.reached(Stop::Finish) => Err(End::GivenUp),
            () = sleep_until(deadline.at) => {
                self.count_plan("failed");
                let error = crate::Error::PlanTimeout { limit: deadline.limit };
                Err(End::Fails(Reason::Failed, Problem::of_source(&error)))
            }
        }
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
