//! The durable record of a run: appended by one holder, in segments that concurrent callers share.

pub(crate) mod fence;
pub(crate) mod read;
pub(crate) mod seal;
pub(crate) mod segment;
pub(crate) mod writer;

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};

use crate::error::{Error, Result};
use crate::head::protocol::Event;
use crate::holder::hold::Hold;
use crate::holder::keeper;
use writer::{Order, Pending, Tip};

/// Appends to the journal of one holder's epoch. Clones append to the same journal concurrently: all appends
/// that arrive while a segment is being written share the next segment.
#[derive(Clone, Debug)]
pub struct Journal {
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) tip: Arc<Tip>,
    pub(crate) hold: Arc<Hold>,
    pub(crate) hurry: Arc<Notify>,
    /// Weak, so that a clone of the journal does not keep the head's task alive.
    pub(crate) renewals: mpsc::WeakSender<keeper::Order>,
}

impl Journal {
    /// Appends records, each one JSON value without a line break. Returns when they are durable. They stay
    /// together, and in order. A call without records returns at once.
    ///
    /// When the future is dropped, the records may or may not be appended.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over: the records are not in the journal and never will be.
    /// Any other failure of the backend ends the journal, since it is not known what is stored: all later
    /// appends fail the same way, and a new holder must resume the run.
    pub async fn append(&self, records: Vec<Vec<u8>>) -> Result<()> {
        segment::check(&records)?;
        if records.is_empty() {
            return self.hold.held();
        }
        let (reply, answer) = oneshot::channel();
        let order = Order { records, pending: Pending::new(self.tip.clone()), reply };
        if self.orders.send(order).await.is_err() {
            return Err(self.ended());
        }
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    /// Stops the wait for more callers: no more records are expected soon.
    pub fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Makes sure that the lease is valid, with a margin. Await it right before a call is sent, after its
    /// record is durable. While the lease is fresh it only reads a clock. A lapsed lease, as on a machine
    /// that slept, is renewed first.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over; the error of a failed renewal.
    pub async fn valid(&self) -> Result<()> {
        match self.hold.valid() {
            Err(Error::Lapsed { .. }) => {}
            settled => return settled,
        }
        // One renewal serves all waiting callers.
        let _renewing = self.hold.renewing.lock().await;
        match self.hold.valid() {
            Err(Error::Lapsed { .. }) => {}
            settled => return settled,
        }
        let keeper = self.renewals.upgrade().ok_or_else(|| self.ended())?;
        keeper::order(&keeper, &self.hold, Event::Renew).await?;
        self.hold.valid()
    }

    fn ended(&self) -> Error {
        match self.hold.held() {
            Err(error) => error,
            Ok(()) => Error::Ended { cluster: self.hold.cluster.clone() },
        }
    }
}
