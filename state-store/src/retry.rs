//! Sending a conditional write again when it did not get through, or when it is not known whether it did.

use std::time::Duration;

use crate::clock::Clock;

/// How often a write is sent again. Each wait is twice the one before, and none is longer than five seconds.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How often at most, the first time included.
    pub attempts: u32,
    /// The first wait.
    pub first_wait: Duration,
}

impl Default for Retry {
    /// Ten attempts within about 16 s, well inside a lease of a minute.
    fn default() -> Self {
        Self { attempts: 10, first_wait: Duration::from_millis(50) }
    }
}

impl Retry {
    const LONGEST_WAIT: Duration = Duration::from_secs(5);

    /// Waits before attempt number `attempt` (the second is 1), or says that it was the last.
    pub(crate) async fn again(&self, attempt: u32, clock: &dyn Clock) -> bool {
        if attempt >= self.attempts {
            return false;
        }
        let wait = self.first_wait.saturating_mul(1 << (attempt - 1).min(20)).min(Self::LONGEST_WAIT);
        if !wait.is_zero() {
            clock.sleep(wait).await;
        }
        true
    }
}
