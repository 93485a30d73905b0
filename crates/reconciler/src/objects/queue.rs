//! Statuses that wait to be written to objects: the newest one of each cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::status::Status;

/// Statuses that wait, by cluster; `None` for a cluster that is gone. Clones are the same queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Waiting>);

/// Statuses by cluster.
pub(super) type Batch = BTreeMap<String, Option<Status>>;

#[derive(Debug, Default)]
struct Waiting {
    clusters: Mutex<Batch>,
    arrived: Notify,
}

impl Queue {
    /// Lets the status of a cluster be written. One that waits is replaced.
    pub fn tell(&self, status: &Status) {
        self.waiting().insert(status.cluster.clone(), Some(status.clone()));
        self.0.arrived.notify_one();
    }

    /// Lets the object of a cluster be deleted.
    pub fn forget(&self, cluster: &str) {
        self.waiting().insert(cluster.to_owned(), None);
        self.0.arrived.notify_one();
    }

    /// Gives back what was not written. A newer status that waits is kept.
    pub(super) fn give_back(&self, cluster: String, status: Option<Status>) {
        self.waiting().entry(cluster).or_insert(status);
        self.0.arrived.notify_one();
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Batch {
        std::mem::take(&mut *self.waiting())
    }

    /// Waits until something waits, and takes it. A call that is given up loses nothing.
    pub(super) async fn next(&self) -> Batch {
        loop {
            let batch = self.take();
            if !batch.is_empty() {
                return batch;
            }
            self.0.arrived.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Batch> {
        self.0.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_status_of_a_cluster_waits() {
        let queue = Queue::default();
        let status = |revision: &str| Status {
            cluster: "a".to_owned(),
            revision: revision.to_owned(),
            ..Status::default()
        };
        queue.tell(&status("1"));
        queue.tell(&status("2"));
        let taken = queue.next().await;
        assert_eq!(taken["a"].as_ref().unwrap().revision, "2");
        queue.tell(&status("3"));
        queue.give_back("a".to_owned(), taken["a"].clone());
        assert_eq!(queue.take()["a"].as_ref().unwrap().revision, "3", "it is newer than what failed");
        queue.forget("a");
        assert_eq!(queue.next().await["a"], None);
        assert!(queue.take().is_empty());
    }
}
