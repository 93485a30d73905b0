//! The holder of a cluster: only one at a time may write.

mod acquire;
mod garbage;
pub(crate) mod hold;
pub(crate) mod keeper;
mod restore;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::backend::{Backend, Locality};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::belief::Belief;
use crate::head::protocol::{Commit, Event};
use crate::head::{CommitMeta, Head, JournalStart, SnapshotRef};
use crate::history;
use crate::journal::Journal;
use crate::journal::writer::{Task, Tip};
use crate::layout;
use crate::name::{ClusterName, Epoch, Generation};
use crate::retry::Retry;
use crate::runs::{self, Run};
use crate::state::{self, View};
use crate::write::{Outcome, Writer};
use hold::Hold;
use keeper::Keeper;

pub use acquire::Acquire;
pub use garbage::{Garbage, Retention, find as find_garbage};
pub use restore::{HeadStands, head_stands, restore_head};

/// Maximum number of queued appends, before appending itself waits.
const WAITING: usize = 4_096;

/// Settings of a holder.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A holder that is silent for this time is replaced; whole seconds, at least one.
    pub term: Duration,
    /// The holder stops relying on the lease this long before the end of the term.
    pub margin: Duration,
    /// How long a segment waits for more callers, when the previous segment had several. The default depends
    /// on the backend: 25 ms over a network, no wait on a file system.
    pub window: Option<Duration>,
    /// The retries of writes that failed for a transient reason.
    pub retry: Retry,
}

impl Default for Options {
    /// A term of 60 s, with a margin of 10 s.
    fn default() -> Self {
        Self {
            term: Duration::from_secs(60),
            margin: Duration::from_secs(10),
            window: None,
            retry: Retry::default(),
        }
    }
}

impl Options {
    fn whole_term(&self) -> Duration {
        Duration::from_secs(self.term.as_secs().max(1))
    }

    fn window(&self, locality: Locality) -> Duration {
        self.window.unwrap_or(match locality {
            Locality::Local => Duration::ZERO,
            Locality::Remote => Duration::from_millis(25),
        })
    }
}

/// Holds a cluster: appends to its journal, commits its state, and renews its lease in the background.
///
/// Dropping a holder ends it like a crash: another holder, also of the same process, can take over only after
/// the lease has ended. Call [`Holder::release`] instead.
#[derive(Debug)]
pub struct Holder {
    writer: Writer,
    hold: Arc<Hold>,
    head: watch::Receiver<Head>,
    journal: Journal,
    orders: mpsc::Sender<keeper::Order>,
    stop: watch::Sender<bool>,
    appending: JoinHandle<()>,
    keeping: JoinHandle<()>,
    ending: Ending,
}

/// Ends the hold when it is dropped, so that no clone of a journal relies on it any more.
#[derive(Debug)]
struct Ending(Arc<Hold>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Holder {
    /// Acquires a cluster, in a new epoch. The records of earlier holders are final when this returns.
    ///
    /// # Errors
    /// [`Error::Held`] when another holder has it and did not release it in time; [`Error::NoCluster`] when
    /// there is no cluster and `acquire` does not create one.
    pub async fn acquire(
        backend: Arc<dyn Backend>,
        cluster: &ClusterName,
        acquire: Acquire,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let options = &acquire.options;
        let writer = acquire::writer(backend, clock.clone(), options);
        let taken = acquire::take(&writer, cluster, &acquire).await?;

        let term = options.whole_term();
        let usable = term.saturating_sub(options.margin);
        let hold = Hold::new(cluster.clone(), taken.hold, clock, usable, taken.sent);
        let tip = Tip::new(JournalStart::of(taken.head.epoch));
        let (head_sender, head) = watch::channel(taken.head.clone());
        let (orders, keeper_orders) = mpsc::channel(16);
        let keeper = Keeper {
            writer: writer.clone(),
            hold: hold.clone(),
            head: head_sender,
            belief: Belief::new(taken.head, taken.tag),
            period: term / 3,
        };
        let (append_orders, appends) = mpsc::channel(WAITING);
        let hurry = Arc::new(Notify::new());
        let (stop, stopped) = watch::channel(false);
        let task = Task {
            writer: writer.clone(),
            hold: hold.clone(),
            tip: tip.clone(),
            hurry: hurry.clone(),
            window: options.window(writer.backend.locality()),
            company: 1,
            failed: None,
        };
        let journal =
            Journal { orders: append_orders, tip, hold: hold.clone(), hurry, renewals: orders.downgrade() };
        let keeping = tokio::spawn(keeper.run(keeper_orders));
        let appending = tokio::spawn(task.run(appends, stopped));
        let ending = Ending(hold.clone());
        Ok(Self { writer, hold, head, journal, orders, stop, appending, keeping, ending })
    }

    /// The head as this holder last wrote it.
    pub fn head(&self) -> Head {
        self.head.borrow().clone()
    }

    /// The epoch that is held.
    pub fn epoch(&self) -> Epoch {
        self.hold.key.epoch
    }

    /// The journal, for all callers that append to it.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Appends records; see [`Journal::append`].
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub async fn append(&self, records: Vec<Vec<u8>>) -> Result<()> {
        self.journal.append(records).await
    }

    /// Whether the lease is valid, with a margin. Only reads a clock.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over, [`Error::Lapsed`] when one may have.
    pub fn valid(&self) -> Result<()> {
        self.hold.valid()
    }

    /// Renews the lease now. The background task does so three times in a term.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over.
    pub async fn renew(&self) -> Result<()> {
        self.order(Event::Renew).await.map(|_| ())
    }

    /// The state, with the records of earlier holders and of this one.
    ///
    /// # Errors
    /// As [`state::read`].
    pub async fn read(&self) -> Result<View> {
        let view = state::read(&*self.writer.backend, &self.hold.cluster).await?;
        view.ok_or_else(|| Error::NoCluster { cluster: self.hold.cluster.clone() })
    }

    /// Stores a new state, which includes all records that this holder and earlier ones appended.
    ///
    /// # Errors
    /// [`Error::AppendsUnderWay`] when appends are in progress that the snapshot might not include;
    /// [`Error::Lost`] when another holder took over: the state is the one that it reads.
    pub async fn commit(&mut self, snapshot: Vec<u8>, meta: CommitMeta) -> Result<Generation> {
        let commit = self.prepare(snapshot, meta).await?;
        Ok(self.order(Event::Commit(Box::new(commit))).await?.generation)
    }

    /// Records a run that ends without a commit: in the head until the next commit, and in a permanent
    /// record.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over.
    pub async fn unfinished(&self, meta: CommitMeta) -> Result<()> {
        runs::end(&self.writer, &Run::ended(&self.head(), meta.clone())).await?;
        self.order(Event::Unfinished(Box::new(meta))).await.map(|_| ())
    }

    /// Releases the cluster, with a last commit if one is given. The cluster is released also when that
    /// commit fails.
    ///
    /// # Errors
    /// As [`Holder::commit`]; [`Error::Lost`] when another holder took over.
    pub async fn release(self, last: Option<(Vec<u8>, CommitMeta)>) -> Result<Head> {
        let (last, failed) = match last {
            None => (None, None),
            Some((snapshot, meta)) => match self.prepare(snapshot, meta).await {
                Ok(commit) => (Some(Box::new(commit)), None),
                Err(error) => (None, Some(error)),
            },
        };
        let released = self.end(Some(Event::Release(last))).await;
        match failed {
            Some(error) => Err(error),
            None => released,
        }
    }

    /// Marks the cluster as deleted, and releases it. Its epoch and generation are kept, so that a later
    /// cluster of the same name continues them, and no holder of this cluster can write into the later one.
    ///
    /// # Errors
    /// [`Error::Lost`] when another holder took over.
    pub async fn tombstone(self, meta: CommitMeta) -> Result<Generation> {
        let (journal_from, _) = self.journal.tip.read();
        let head = self.head();
        history::keep(&self.writer, &head).await?;
        Ok(self.end(Some(Event::Tombstone { journal_from, meta })).await?.generation)
    }

    /// Ends this holder without a release, like a crash, after its appends are durable.
    pub async fn close(self) {
        // Without an event there is no call that could fail.
        let _ = self.end(None).await;
    }

    /// Stores the snapshot under the name that the next generation will have.
    async fn prepare(&self, snapshot: Vec<u8>, meta: CommitMeta) -> Result<Commit> {
        let (journal_from, pending) = self.journal.tip.read();
        if pending > 0 {
            return Err(Error::AppendsUnderWay { cluster: self.hold.cluster.clone(), pending });
        }
        self.hold.held()?;
        let head = self.head();
        history::keep(&self.writer, &head).await?;
        let generation = head.generation.next();
        let bytes = Bytes::from(snapshot);
        let digest = Digest::of(&bytes);
        let key = layout::snapshot(&self.hold.cluster, generation, digest);
        if let Outcome::Taken { .. } = self.writer.put(&key, &bytes, None).await? {
            let reason = "other bytes are stored under the digest of these";
            return Err(crate::backend::Error::corrupt(key, reason).into());
        }
        let snapshot = SnapshotRef { key: key.to_string(), digest, size: bytes.len() as u64 };
        Ok(Commit { generation, snapshot, journal_from, meta })
    }

    async fn order(&self, event: Event) -> Result<Head> {
        keeper::order(&self.orders, &self.hold, event).await
    }

    /// Finishes the queued appends, then the last order, then both tasks.
    async fn end(self, last: Option<Event>) -> Result<Head> {
        drop(self.ending);
        self.stop.send_replace(true);
        // A task that panicked has nothing left to finish.
        let _ = self.appending.await;
        let (reply, answer) = oneshot::channel();
        let is_ordered = match last {
            Some(event) => self.orders.send(keeper::Order { event, reply }).await.is_ok(),
            None => false,
        };
        let result = if is_ordered { answer.await.ok() } else { None };
        drop(self.orders);
        let _ = self.keeping.await;
        result.unwrap_or(Err(Error::Ended { cluster: self.hold.cluster.clone() }))
    }
}
