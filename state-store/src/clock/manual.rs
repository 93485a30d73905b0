//! A clock that a test moves.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use super::Clock;

/// A clock that moves only when a test moves it; clones do not share it, put it into an `Arc`.
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<Duration>,
}

impl ManualClock {
    /// A clock at an arbitrary moment.
    pub fn new() -> Self {
        Self { now: watch::Sender::new(Duration::from_secs(1_000)) }
    }

    /// Moves the clock, and wakes who slept until then.
    pub fn advance(&self, duration: Duration) {
        self.now.send_modify(|now| *now += duration);
    }

    /// How many are asleep at the moment.
    pub fn sleepers(&self) -> usize {
        self.now.receiver_count()
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn elapsed(&self) -> Duration {
        *self.now.borrow()
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH.saturating_add(self.elapsed()).unwrap_or(Timestamp::MAX)
    }

    async fn sleep(&self, duration: Duration) {
        let mut now = self.now.subscribe();
        let until = self.elapsed() + duration;
        // The sender lives as long as `self`, so that waiting cannot fail.
        let _ = now.wait_for(|now| *now >= until).await;
    }
}
