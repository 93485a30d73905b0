//! The rate of requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tonic::Status;

use super::refusal;

/// Requests above the rate wait up to this long. Those that would wait longer are refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many seconds' worth of requests may come at once.
const BURST: Duration = Duration::from_secs(1);

/// Spaces requests evenly, after a burst (the generic cell rate algorithm).
#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    /// When the next request is due.
    due: Mutex<Instant>,
}

impl Pace {
    /// A pace of this many requests in a second; without a number, none waits.
    pub fn new(per_second: Option<u32>) -> Self {
        let interval = match per_second {
            Some(rate) => Duration::from_secs(1) / rate.max(1),
            None => Duration::ZERO,
        };
        Self { interval, due: Mutex::new(Instant::now()) }
    }

    /// Waits for the turn of a request, or refuses it.
    pub async fn take(&self) -> Result<(), Status> {
        let wait = self.reserve(Instant::now()).ok_or_else(refusal::too_many_requests)?;
        if !wait.is_zero() {
            sleep(wait).await;
        }
        Ok(())
    }

    fn reserve(&self, now: Instant) -> Option<Duration> {
        if self.interval.is_zero() {
            return Some(Duration::ZERO);
        }
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (*due).max(now);
        let wait = next.duration_since(now).saturating_sub(BURST);
        if wait > PATIENCE {
            return None;
        }
        *due = next + self.interval;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_requests_wait_then_they_are_refused() {
        let (pace, now) = (Pace::new(Some(10)), Instant::now());
        let waits: Vec<_> = (0..40).map(|_| pace.reserve(now)).collect();
        assert_eq!(waits.iter().filter(|wait| **wait == Some(Duration::ZERO)).count(), 11);
        assert_eq!(waits[11], Some(Duration::from_millis(100)));
        assert_eq!(waits.iter().filter(|wait| wait.is_some()).count(), 21);
        assert_eq!(pace.reserve(now + Duration::from_secs(3)), Some(Duration::ZERO));
    }

    #[test]
    fn without_a_rate_no_request_waits() {
        let pace = Pace::new(None);
        assert!((0..1000).all(|_| pace.reserve(Instant::now()) == Some(Duration::ZERO)));
    }
}
