//! The one task that writes the head while it is held: renewals, and the orders of the holder.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::hold::Hold;
use crate::backend::{self, Tag};
use crate::error::{Error, Result};
use crate::head::Head;
use crate::head::belief::Belief;
use crate::head::protocol::{Event, Refusal};
use crate::layout;
use crate::write::Writer;

/// Maximum number of late writes of this holder that may conflict with the next one.
const OWN_LATE_WRITES: u32 = 8;

/// A change of the head, and the receiver of its result.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) event: Event,
    pub(crate) reply: oneshot::Sender<Result<Head>>,
}

/// Orders a change of the head from the task, and waits for the result.
pub(crate) async fn order(keeper: &mpsc::Sender<Order>, hold: &Hold, event: Event) -> Result<Head> {
    let (reply, answer) = oneshot::channel();
    let ended = || Error::Ended { cluster: hold.cluster.clone() };
    keeper.send(Order { event, reply }).await.map_err(|_| ended())?;
    answer.await.map_err(|_| ended())?
}

/// The task's own state.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) writer: Writer,
    pub(crate) hold: Arc<Hold>,
    pub(crate) head: watch::Sender<Head>,
    pub(crate) belief: Belief<Tag>,
    /// The time between two renewals.
    pub(crate) period: Duration,
}

impl Keeper {
    /// Renews and carries out orders until all senders of orders are dropped. After a release or a loss it
    /// does not renew.
    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let clock = self.writer.clock.clone();
        let mut last = clock.elapsed();
        loop {
            let wait = (last + self.period).saturating_sub(clock.elapsed());
            tokio::select! {
                biased;
                order = orders.recv() => {
                    let Some(Order { event, reply }) = order else {
                        return;
                    };
                    let result = self.change(&event).await;
                    // A caller that was dropped needs no result.
                    let _ = reply.send(result);
                }
                // A failed renewal shows in the age of the lease, a lost lease in its state.
                () = clock.sleep(wait), if self.hold.held().is_ok() => {
                    let _ = self.change(&Event::Renew).await;
                }
            }
            last = clock.elapsed();
        }
    }

    /// Changes the head; every change also renews the lease.
    async fn change(&mut self, event: &Event) -> Result<Head> {
        self.hold.held()?;
        let key = layout::head(&self.hold.cluster);
        for _ in 0..OWN_LATE_WRITES {
            let salt = crate::random::hex()?;
            let proposed = self.belief.propose(&self.hold.key, event, salt);
            let proposed = proposed.map_err(|refusal| self.refused(refusal))?;
            let sent = self.writer.clock.elapsed();
            let outcome = self.writer.put(&key, &proposed.encode()?, Some(self.belief.tag())).await?;
            let outcome = outcome.try_map(|bytes| Head::decode(&self.hold.cluster, &bytes))?;
            let is_stored = self.belief.settle(&proposed, outcome);
            self.head.send_replace(self.belief.head().clone());
            if is_stored {
                self.hold.renew(sent);
                return Ok(proposed);
            }
        }
        Err(backend::Error::Conflict { key: key.to_string() }.into())
    }

    fn refused(&self, refusal: Refusal) -> Error {
        match refusal {
            Refusal::Lost { by } => self.hold.lose(by),
            Refusal::Held(holder) => self.hold.lose(Some(holder.who)),
            Refusal::NoCluster => Error::NoCluster { cluster: self.hold.cluster.clone() },
            Refusal::OutOfTurn { .. } => {
                backend::Error::Conflict { key: layout::head(&self.hold.cluster).to_string() }.into()
            }
        }
    }
}
