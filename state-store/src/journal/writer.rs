//! The one task that writes an epoch's segments, in order, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::fence::{self, End};
use super::segment;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::JournalStart;
use crate::holder::hold::Hold;
use crate::layout;
use crate::write::{Outcome, Writer};

/// A segment takes no more callers when it has this many bytes of records.
const FULL: usize = 1 << 20;

/// Records to append, and the receiver of the result.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) pending: Pending,
    pub(crate) reply: oneshot::Sender<Result<()>>,
}

/// The end of the journal, and the number of appends in progress.
#[derive(Debug)]
pub(crate) struct Tip {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    end: End,
    pending: usize,
}

impl Tip {
    pub(crate) fn new(next: JournalStart) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { end: End::new(next), pending: 0 }) })
    }

    /// The first segment that is not written yet, and the number of appends in progress.
    pub(crate) fn read(&self) -> (JournalStart, usize) {
        let state = self.lock();
        (state.end.start(), state.pending)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts as one append in progress until it is dropped.
#[derive(Debug)]
pub(crate) struct Pending {
    tip: Arc<Tip>,
}

impl Pending {
    pub(crate) fn new(tip: Arc<Tip>) -> Self {
        tip.lock().pending += 1;
        Self { tip }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.tip.lock().pending -= 1;
    }
}

/// The state of the task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) writer: Writer,
    pub(crate) hold: Arc<Hold>,
    pub(crate) tip: Arc<Tip>,
    pub(crate) hurry: Arc<Notify>,
    /// How long to wait for callers when some are expected.
    pub(crate) window: Duration,
    /// The number of callers of the previous segment.
    pub(crate) company: usize,
    /// Why nothing can be written any more.
    pub(crate) failed: Option<Error>,
}

impl Task {
    /// Writes until `stop` changes or is dropped, and then the queued orders.
    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>, mut stop: watch::Receiver<bool>) {
        loop {
            let first = tokio::select! {
                biased;
                order = orders.recv() => order,
                _ = stop.changed(), if !orders.is_closed() => {
                    orders.close();
                    continue;
                }
            };
            let Some(first) = first else {
                return;
            };
            let batch = self.gather(first, &mut orders).await;
            self.company = batch.len();
            let result = self.write(&batch).await;
            for Order { pending, reply, .. } in batch {
                // Counted as done before the caller gets the result, since the caller may commit next.
                drop(pending);
                // A caller that was dropped needs no result.
                let _ = reply.send(result.clone());
            }
        }
    }

    /// Collects the queued appends, and waits a little for as many callers as the last segment had. A single
    /// caller that appends one record after the other never waits.
    async fn gather(&self, first: Order, orders: &mut mpsc::Receiver<Order>) -> Vec<Order> {
        let mut size = length(&first);
        let mut batch = vec![first];
        // Lets the callers that the previous segment woke append first.
        tokio::task::yield_now().await;
        let until = Instant::now() + self.window;
        while size < FULL {
            let order = match orders.try_recv() {
                Ok(order) => Some(order),
                Err(_) if batch.len() >= self.company || self.window.is_zero() => None,
                Err(_) => tokio::select! {
                    order = orders.recv() => order,
                    () = self.hurry.notified() => None,
                    () = tokio::time::sleep_until(until) => None,
                },
            };
            let Some(order) = order else {
                break;
            };
            size += length(&order);
            batch.push(order);
        }
        batch
    }

    async fn write(&mut self, batch: &[Order]) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.write_segment(batch).await;
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    async fn write_segment(&self, batch: &[Order]) -> Result<()> {
        self.hold.held()?;
        let place = self.tip.lock().end.place();
        let key = layout::segment(&self.hold.cluster, place.epoch, place.sequence);
        let records = batch.iter().flat_map(|order| order.records.iter().map(Vec::as_slice));
        let bytes = segment::encode(place, records)?;
        match self.writer.put(&key, &bytes, None).await? {
            Outcome::Written(_) => {
                self.tip.lock().end.written(Digest::of(&bytes));
                Ok(())
            }
            Outcome::Taken { value, .. } => {
                let found = segment::decode(&key, place.epoch, place.sequence, &value)?;
                Err(self.hold.lose(Some(fence::replaced_by(found))))
            }
        }
    }
}

fn length(order: &Order) -> usize {
    order.records.iter().map(Vec::len).sum()
}
