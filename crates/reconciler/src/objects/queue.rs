//! What waits to be written to objects: the newest value of each subject.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Values that wait, by the name of a cluster or a source. Clones are the same queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue<T>(Arc<Inner<T>>);

#[derive(Debug, Default)]
struct Inner<T> {
    waiting: Mutex<BTreeMap<String, T>>,
    arrived: Notify,
}

impl<T> Queue<T> {
    /// Lets a value be written. One that waits for the same subject is replaced.
    pub fn put(&self, subject: &str, value: T) {
        self.waiting().insert(subject.to_owned(), value);
        self.0.arrived.notify_one();
    }

    /// Gives back what was not written. A newer value that waits is kept.
    pub(super) fn give_back(&self, subject: String, value: T) {
        self.waiting().entry(subject).or_insert(value);
        self.0.arrived.notify_one();
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> BTreeMap<String, T> {
        std::mem::take(&mut *self.waiting())
    }

    /// Waits until something waits, and takes it. A call that is given up loses nothing.
    pub(super) async fn next(&self) -> BTreeMap<String, T> {
        loop {
            let taken = self.take();
            if !taken.is_empty() {
                return taken;
            }
            self.0.arrived.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_value_of_a_subject_waits() {
        let queue = Queue::default();
        queue.put("a", 1);
        queue.put("a", 2);
        let taken = queue.next().await;
        assert_eq!(taken["a"], 2);
        queue.put("a", 3);
        queue.give_back("a".to_owned(), taken["a"]);
        assert_eq!(queue.take()["a"], 3, "it is newer than what failed");
        queue.give_back("a".to_owned(), 3);
        assert_eq!(queue.next().await["a"], 3);
        assert!(queue.take().is_empty());
    }
}
