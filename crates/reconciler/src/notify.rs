//! Notifications about clusters, to receivers that the operator has configured.
//!
//! The status of a cluster records the last notification, so that each one is sent once, whichever replica works on the cluster. A
//! message is sent after the status was written: a controller that is killed in between sends no message, and none twice. Messages
//! wait in memory, a bounded number for each receiver.

mod delivery;
mod notice;
mod template;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use delivery::{Deliveries, place_of};
pub(crate) use notice::Notice;
pub(crate) use template::Template;

use crate::configuration::Notification;

/// Messages that wait for one receiver. Older ones are dropped.
const WAITING: usize = 1_000;

/// The messages that wait, for each receiver. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices(Arc<Vec<Arc<Queue>>>);

/// The messages that wait for one receiver.
#[derive(Debug)]
struct Queue {
    receiver: Notification,
    waiting: Mutex<VecDeque<Notice>>,
    arrived: Notify,
}

impl Notices {
    /// The queues of all receivers.
    pub fn new(receivers: &[Notification]) -> Self {
        let queue = |receiver: &Notification| {
            Arc::new(Queue { receiver: receiver.clone(), waiting: Mutex::default(), arrived: Notify::new() })
        };
        Self(Arc::new(receivers.iter().map(queue).collect()))
    }

    /// Whether no notifications are sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells every receiver that wants to know.
    pub fn tell(&self, notice: &Notice) {
        for queue in self.0.iter().filter(|queue| queue.receiver.wants(&notice.cluster, &notice.reason)) {
            queue.push(notice.clone());
        }
    }
}

impl Queue {
    fn push(&self, notice: Notice) {
        let mut waiting = self.waiting();
        if waiting.len() >= WAITING {
            waiting.pop_front();
            tracing::warn!(
                notification = self.receiver.name,
                "too many messages wait; the oldest one is dropped"
            );
        }
        waiting.push_back(notice);
        self.arrived.notify_one();
    }

    /// Takes the next message; `None` after the stop when none waits.
    async fn next(&self, stop: &CancellationToken) -> Option<Notice> {
        loop {
            let next = self.waiting().pop_front();
            if next.is_some() || stop.is_cancelled() {
                return next;
            }
            tokio::select! {
                () = self.arrived.notified() => {}
                () = stop.cancelled() => {}
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
