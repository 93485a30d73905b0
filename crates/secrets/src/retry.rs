//! Sending a write again that did not get through.

use std::time::Duration;

use slipway_state_store::backend::Error;

/// How often at most.
const ATTEMPTS: u32 = 6;

/// Waits before the next attempt, or says that there is none.
pub(crate) async fn again(attempt: u32, error: &Error) -> bool {
    if !error.is_retryable() || attempt >= ATTEMPTS {
        return false;
    }
    tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
    true
}
