//! How long a read is repeated.

use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};

use crate::retry::Backoff;

/// How often and how long a call that changes nothing is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How waits grow, and how many attempts there are at most.
    pub backoff: Backoff,
    /// No attempt begins later than this after the first, when the last failure was a passing fault.
    pub transient: Duration,
    /// The same, when the provider's pace was exceeded.
    pub throttled: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            transient: Duration::from_secs(15),
            throttled: Duration::from_secs(120),
        }
    }
}

impl Patience {
    /// How long to wait after the attempt of this number (from 1) failed, `spent` after the first began; `None` when
    /// it is not worth another.
    pub(super) fn delay(&self, attempt: u32, error: &ProviderError, spent: Duration) -> Option<Duration> {
        let budget = match error.class {
            ErrorClass::Throttled { .. } => self.throttled,
            _ => self.transient,
        };
        let salt = u64::from(std::process::id());
        self.backoff.delay(attempt, error, salt).filter(|delay| spent + *delay <= budget)
    }
}

/// A failure that lasted, with how often it was tried.
pub(super) fn tried(mut error: ProviderError, attempts: u32) -> ProviderError {
    if attempts > 1 {
        error.message = format!("{} (tried {attempts} times)", error.message);
    }
    error
}
