//! Hints from outside that a source may have changed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Tells a controller from outside that a source may have changed, as webhooks do. Such a hint only lets the source be read
/// earlier than its interval would; nothing in it is trusted. Clones tell the same controller.
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Hints>);

#[derive(Debug, Default)]
struct Hints {
    /// The names of the sources.
    waiting: Mutex<BTreeSet<String>>,
    arrived: Notify,
}

impl Handle {
    /// Lets a source be read now, or a second after its last read began. Hints about one source that wait are one.
    pub fn changed(&self, source: impl Into<String>) {
        self.waiting().insert(source.into());
        self.0.arrived.notify_one();
    }

    /// Waits for hints, and takes them: the names of the sources. A call that is given up loses none.
    pub(crate) async fn next(&self) -> BTreeSet<String> {
        loop {
            let names = std::mem::take(&mut *self.waiting());
            if !names.is_empty() {
                return names;
            }
            self.0.arrived.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<String>> {
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
        assert_eq!(handle.next().await, BTreeSet::from(["fleet".to_owned(), "local".to_owned()]));
        assert!(timeout(Duration::from_millis(20), handle.next()).await.is_err(), "none waits");
        handle.changed("fleet");
        assert_eq!(handle.next().await.len(), 1, "a call that was given up loses nothing");
    }
}
