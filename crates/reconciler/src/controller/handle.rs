//! Hints from outside that a source may have changed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Tells a controller from outside that a source or a pull request may have changed, as webhooks do. Such a hint only lets it be
/// looked at earlier than its interval would; nothing in it is trusted. Clones tell the same controller.
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Hints>);

#[derive(Debug, Default)]
struct Hints {
    waiting: Mutex<BTreeSet<Hint>>,
    arrived: Notify,
}

/// What may have changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// A source, by its name.
    Source(String),
    /// A pull request of a source, by its number.
    PullRequest(String, u64),
}

impl Handle {
    /// Lets a source be read now, or a second after its last read began. Hints about one source that wait are one.
    pub fn changed(&self, source: impl Into<String>) {
        self.tell(Hint::Source(source.into()));
    }

    /// Lets a pull request be looked at now, or a second after the last look at those of its source began.
    pub fn pull_request_changed(&self, source: impl Into<String>, number: u64) {
        self.tell(Hint::PullRequest(source.into(), number));
    }

    fn tell(&self, hint: Hint) {
        self.waiting().insert(hint);
        self.0.arrived.notify_one();
    }

    /// Waits for hints, and takes them. A call that is given up loses none.
    pub(crate) async fn next(&self) -> BTreeSet<Hint> {
        loop {
            let hints = std::mem::take(&mut *self.waiting());
            if !hints.is_empty() {
                return hints;
            }
            self.0.arrived.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<Hint>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn hints_that_wait_for_one_source_are_one() {
        let handle = Handle::default();
        for _ in 0..5_000 {
            handle.clone().changed("fleet");
        }
        handle.changed("local");
        let sources = ["fleet", "local"].map(|name| Hint::Source(name.to_owned()));
        assert_eq!(handle.next().await, BTreeSet::from(sources));
        assert!(timeout(Duration::from_millis(20), handle.next()).await.is_err(), "none waits");
        handle.changed("fleet");
        assert_eq!(handle.next().await.len(), 1, "a call that was given up loses nothing");
    }
}
