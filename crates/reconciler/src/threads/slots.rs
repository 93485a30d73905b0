//! The right of a cluster or a pull request to be planned.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::{Lost, MOST, keeping_async};

/// The clusters, or the pull requests, of one source that are planned at once. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// The places that no other source has.
    own: Arc<Semaphore>,
    common: Common,
    /// The names of those that have a slot.
    taken: Arc<Mutex<BTreeSet<String>>>,
}

/// The places that all sources have together, beside their own ones. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Common(Arc<Semaphore>);

impl Common {
    /// Some places, but at least one.
    pub fn new(most: usize) -> Self {
        Self(places(most))
    }
}

/// The right to be planned, on a thread at a time. Planning that was given up keeps it until its thread ends: what is slow to plan
/// has one thread, however often it is tried.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Dropped with the last clone.
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    name: String,
    taken: Arc<Mutex<BTreeSet<String>>>,
    /// Nobody closes the semaphore, so this is always a permit.
    _place: Result<OwnedSemaphorePermit, AcquireError>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl Slots {
    /// Some slots of a source, but at least one, and the common ones.
    pub fn new(most: usize, common: &Common) -> Self {
        Self { own: places(most), common: common.clone(), taken: Arc::default() }
    }

    /// The slot of a cluster or a pull request, as soon as one is free. `None` while earlier planning of it goes on that was given up.
    pub async fn take(&self, name: &str) -> Option<Slot> {
        if self.taken.lock().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return None;
        }
        let place = tokio::select! {
            biased;
            place = self.own.clone().acquire_owned() => place,
            place = self.common.0.clone().acquire_owned() => place,
        };
        let is_new = self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        // One job at a time looks at a cluster, or at the pull requests of a source.
        is_new.then(|| Slot {
            held: Arc::new(Held { name: name.to_owned(), taken: self.taken.clone(), _place: place }),
        })
    }
}

fn places(most: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(most.clamp(1, MOST)))
}

impl Slot {
    /// Runs a part of planning on a thread. If its caller is dropped, the work ends at its next await.
    ///
    /// # Errors
    /// When the work panics.
    pub async fn run<W>(&self, work: impl FnOnce() -> W + Send + 'static) -> Result<W::Output, Lost>
    where
        W: Future,
        W::Output: Send + 'static,
    {
        keeping_async(self.held.clone(), work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn planning_that_was_given_up_keeps_the_slot_of_its_cluster_only() {
        // One place of its own, and a common one.
        let slots = Slots::new(1, &Common::new(1));
        let (sender, receiver) = mpsc::channel::<()>();
        let slow = slots.take("slow").await.unwrap();
        let (begins, has_begun) = oneshot::channel();
        // It is busy, and waits nowhere.
        let busy = slow.run(move || async move {
            begins.send(()).unwrap();
            receiver.recv_timeout(LONG)
        });
        tokio::select! {
            _ = busy => panic!("nothing was sent"),
            begun = has_begun => begun.unwrap(),
        }
        drop(slow);
        assert!(slots.take("slow").await.is_none(), "there would be a second thread for it");
        let other = slots.take("other").await.unwrap();
        assert_eq!(timeout(LONG, other.run(|| async { 7 })).await.unwrap().unwrap(), 7);
        assert!(timeout(SHORT, slots.take("third")).await.is_err(), "there are two places");
        drop(other);
        assert!(timeout(LONG, slots.take("third")).await.unwrap().is_some());

        sender.send(()).unwrap();
        let again = async {
            while slots.take("slow").await.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, again).await.unwrap();
    }

    #[tokio::test]
    async fn a_slot_is_free_again_when_the_work_is_done() {
        let slots = Slots::new(1, &Common::new(1));
        for cluster in ["dev", "dev", "prod"] {
            let slot = slots.take(cluster).await.unwrap();
            assert_eq!(slot.run(|| async { 7 }).await.unwrap(), 7);
        }
    }

    #[tokio::test]
    async fn a_source_that_keeps_all_common_slots_leaves_those_of_others() {
        let common = Common::new(2);
        let (busy, other) = (Slots::new(1, &common), Slots::new(1, &common));
        let mut kept = Vec::new();
        for cluster in ["a", "b", "c"] {
            kept.push(timeout(LONG, busy.take(cluster)).await.unwrap().unwrap());
        }
        assert!(timeout(SHORT, busy.take("d")).await.is_err(), "all are taken");
        let slot = timeout(LONG, other.take("dev")).await.unwrap().unwrap();
        assert!(timeout(SHORT, other.take("prod")).await.is_err(), "it has one of its own");
        drop(kept);
        assert!(timeout(LONG, other.take("prod")).await.unwrap().is_some());
        drop(slot);
    }
}
