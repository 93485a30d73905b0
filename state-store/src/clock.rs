//! Time: a clock that counts on while the machine sleeps, for leases; and the wall clock, for people.

#[cfg(any(test, feature = "faults"))]
pub mod manual;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

#[cfg(any(test, feature = "faults"))]
pub use manual::ManualClock;

/// Where time comes from.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync {
    /// Time since a fixed moment. It never decreases, and includes the time in which the machine was
    /// suspended.
    fn elapsed(&self) -> Duration;

    /// The wall clock. It is shown to people, and decides nothing.
    fn timestamp(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        #[cfg(target_os = "linux")]
        let clock = rustix::time::ClockId::Boottime;
        // Elsewhere the monotonic clock is the closest: on macOS it counts sleep, as CLOCK_BOOTTIME does.
        #[cfg(not(target_os = "linux"))]
        let clock = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
