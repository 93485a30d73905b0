//! Sending a request again when it did not get through, or when it is not known whether it did.

use std::time::Duration;

use crate::clock::Clock;

/// How often a request is sent again. Each wait is about twice the one before, and none is longer than five seconds
/// unless the place asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How often at most, the first time included.
    pub attempts: u32,
    /// The first wait, at most: half of each wait is left to chance, so that those who failed together do not come
    /// back together.
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
    /// A place may ask to come again later than that; this is the latest.
    const LATEST: Duration = Duration::from_secs(20);

    /// Waits before attempt number `attempt` (the second is 1), for as long as the place asked for if it did, or says
    /// that it was the last.
    pub(crate) async fn again_after(
        &self,
        attempt: u32,
        retry_after: Option<Duration>,
        clock: &dyn Clock,
    ) -> bool {
        if attempt >= self.attempts {
            return false;
        }
        let wait = self.wait(attempt, retry_after, chance());
        if !wait.is_zero() {
            clock.sleep(wait).await;
        }
        true
    }

    /// How long to wait; `chance` is from 0 to 255.
    fn wait(&self, attempt: u32, retry_after: Option<Duration>, chance: u8) -> Duration {
        let longest = self.first_wait.saturating_mul(1 << (attempt - 1).min(20)).min(Self::LONGEST_WAIT);
        let wait = longest / 2 + longest.mul_f32(f32::from(chance) / 510.0);
        wait.max(retry_after.unwrap_or_default().min(Self::LATEST))
    }
}

/// Chance, where there is some; without it all come back at the same time, and nothing is wrong.
fn chance() -> u8 {
    let mut byte = [255];
    let _ = aws_lc_rs::rand::fill(&mut byte);
    byte[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_left_to_chance_in_part() {
        let retry = Retry::default();
        let milliseconds = |attempt, chance| retry.wait(attempt, None, chance).as_millis();
        assert_eq!((milliseconds(1, 0), milliseconds(1, 255)), (25, 50));
        assert_eq!((milliseconds(2, 0), milliseconds(2, 255)), (50, 100));
        assert_eq!((milliseconds(9, 0), milliseconds(9, 255)), (2_500, 5_000));
        assert_eq!(Retry { first_wait: Duration::ZERO, ..retry }.wait(3, None, 255), Duration::ZERO);
    }

    #[test]
    fn who_asks_to_come_later_is_heard_within_reason() {
        let wait = |seconds| Retry::default().wait(1, Some(Duration::from_secs(seconds)), 255);
        assert_eq!(wait(0), Duration::from_millis(50));
        assert_eq!(wait(3), Duration::from_secs(3));
        assert_eq!(wait(3_600), Duration::from_secs(20));
    }
}
