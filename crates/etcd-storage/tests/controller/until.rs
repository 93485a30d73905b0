//! Waiting for a condition.

use std::time::{Duration, Instant};

/// How long anything may take. Machines of continuous integration are slow at times.
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until there is something.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}
