//! The durable record of a run: appended by one holder, in segments that many callers share.

pub(crate) mod fence;
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

/// Appends to the journal of one holder's epoch. Clones append to the same journal, at the same time: what is asked for
/// while a segment is being written becomes the next segment, one object for all.
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
    /// Appends records, each one JSON value without a line break; returns when they are durable. They stay together, and
    /// in order. No records are done at once.
    ///
    /// When the future is dropped, the records may or may not be appended.
    ///
    /// # Errors
    /// [`Error::Lost`] when somebody took over: the records are not in the journal and never will be. Any other failure
    /// of the place ends the journal, since it is not known what is stored: all later appends fail the same way, and the
    /// run has to be taken up again by a new holder.
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

    /// Asks that what was appended so far waits for no company: more records are not to be expected soon.
    pub fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Makes sure that the lease holds, with a margin: to be awaited right before a call leaves, after its record is
    /// durable. While the lease is fresh it reads a clock, and nothing else. One that lapsed, as on a machine that
    /// slept, is renewed first.
    ///
    /// # Errors
    /// [`Error::Lost`] when somebody took over; why the renewal failed.
    pub async fn valid(&self) -> Result<()> {
        match self.hold.valid() {
            Err(Error::Lapsed { .. }) => {}
            settled => return settled,
        }
        // One renewal serves all who wait for it.
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
