//! Time for leases: a clock that never decreases and that includes the time in which the machine was
//! suspended.

use std::time::Duration;

/// Time since the machine was started.
pub(crate) fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    // Elsewhere the monotonic clock is the closest: on macOS it counts sleep, as CLOCK_BOOTTIME does.
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
