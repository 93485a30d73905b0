//! How long to wait before a call is sent again.

use std::time::Duration;

use slipway_limits::count::RETRY_AFTER_MILLISECONDS;
use slipway_resource::{ErrorClass, ProviderError};

/// Exponential backoff with full jitter, bounded in number.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The first wait is at most this long.
    pub base: Duration,
    /// No wait is longer.
    pub longest: Duration,
    /// How often a call is sent at most.
    pub attempts: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(200), longest: Duration::from_secs(20), attempts: 10 }
    }
}

impl Backoff {
    /// How long to wait after the attempt of this number (from 1) failed; `None` when it is not worth another.
    ///
    /// `salt` spreads the waits of different steps; the same salt gives the same wait.
    #[must_use]
    pub fn delay(&self, attempt: u32, error: &ProviderError, salt: u64) -> Option<Duration> {
        if !error.class.is_retryable() || attempt >= self.attempts {
            return None;
        }
        let ceiling = self.base.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(self.longest);
        let jitter = spread(salt.wrapping_add(u64::from(attempt)));
        // Between half and the whole: full jitter would let a call through at once.
        let wait = ceiling.mul_f64(0.5 + jitter / 2.0);
        match error.class {
            ErrorClass::Throttled { retry_after_ms: Some(asked), .. } => {
                Some(wait.max(Duration::from_millis(asked.min(RETRY_AFTER_MILLISECONDS))))
            }
            _ => Some(wait),
        }
    }
}

/// A number from 0 to 1 out of a salt (splitmix64).
#[expect(clippy::cast_precision_loss, reason = "53 bits are enough to spread waits")]
fn spread(salt: u64) -> f64 {
    let mut mixed = salt.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let backoff = Backoff::default();
        let of = |class| backoff.delay(1, &ProviderError::new(class, ""), 7);
        assert!(of(ErrorClass::Transient).is_some());
        assert!(of(ErrorClass::Permission { action: "x".into() }).is_none());
        assert!(of(ErrorClass::OutcomeUnknown).is_none());
        let throttled = ErrorClass::Throttled { rate_class: "x".into(), retry_after_ms: Some(9_000) };
        assert_eq!(of(throttled), Some(Duration::from_secs(9)));
        let endless = ErrorClass::Throttled { rate_class: "x".into(), retry_after_ms: Some(u64::MAX) };
        assert_eq!(of(endless), Some(Duration::from_millis(RETRY_AFTER_MILLISECONDS)));
    }

    #[test]
    fn waits_grow_and_end() {
        let backoff = Backoff::default();
        let error = ProviderError::new(ErrorClass::Transient, "");
        let waits: Vec<Option<Duration>> =
            (1..=10).map(|attempt| backoff.delay(attempt, &error, 1)).collect();
        assert!(waits[8] > waits[2] && waits[9].is_none());
        assert!(waits.iter().flatten().all(|wait| *wait <= backoff.longest));
    }
}
