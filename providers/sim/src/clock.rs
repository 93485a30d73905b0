//! The simulated cloud's own time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Milliseconds since the cloud began.
pub type Millis = u64;

/// Simulated time: at scale 0 waiting costs nothing and the clock jumps, otherwise a simulated second takes
/// `scale` real ones.
///
/// It waits with tokio's timer, so that at scale 1 under tokio's paused clock a run is an exact discrete-event
/// simulation.
#[derive(Debug)]
pub struct Clock {
    scale: f64,
    origin: Mutex<Origin>,
}

#[derive(Debug, Clone, Copy)]
struct Origin {
    simulated: Millis,
    real: Instant,
}

impl Clock {
    /// A clock that starts at 0.
    #[must_use]
    pub fn new(scale: f64) -> Self {
        Self { scale: scale.max(0.0), origin: Mutex::new(Origin { simulated: 0, real: Instant::now() }) }
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Millis {
        let origin = *self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        self.at(origin)
    }

    /// Puts the clock forward to `moment`, never back.
    pub fn advance_to(&self, moment: Millis) {
        let mut origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        if self.at(*origin) < moment {
            *origin = Origin { simulated: moment, real: Instant::now() };
        }
    }

    /// How much simulated time passes in so many real milliseconds; without end where waiting is free.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the cast saturates, and time-outs are far below the limit"
    )]
    pub fn simulated(&self, real_ms: u64) -> Millis {
        if self.scale > 0.0 { (real_ms as f64 / self.scale) as Millis } else { Millis::MAX }
    }

    /// Waits until `moment`.
    pub async fn sleep_until(&self, moment: Millis) {
        let now = self.now();
        if moment <= now {
            return;
        }
        if self.scale > 0.0 {
            let seconds = Duration::from_millis(moment - now).as_secs_f64() * self.scale;
            let span = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            tokio::time::sleep(span).await;
        } else {
            // Tasks that are ready now run before the clock jumps, so that parallel actions are simulated as
            // parallel.
            tokio::task::yield_now().await;
        }
        self.advance_to(moment);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "elapsed time is positive and far below the limit"
    )]
    fn at(&self, origin: Origin) -> Millis {
        if self.scale > 0.0 {
            let elapsed = origin.real.elapsed().as_secs_f64() * 1000.0 / self.scale;
            origin.simulated.saturating_add(elapsed as Millis)
        } else {
            origin.simulated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn at_scale_zero_waits_run_side_by_side_and_cost_nothing() {
        let clock = Clock::new(0.0);
        let (first, second) = (clock.now() + 60_000, clock.now() + 40_000);
        tokio::join!(clock.sleep_until(first), clock.sleep_until(second));
        assert_eq!(clock.now(), 60_000);
    }

    #[tokio::test(start_paused = true)]
    async fn at_scale_one_simulated_time_is_tokios() {
        let clock = Clock::new(1.0);
        clock.sleep_until(90_000).await;
        assert_eq!(clock.now(), 90_000);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(clock.now(), 100_000);
    }
}
