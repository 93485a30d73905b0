//! Acquires a cluster: waits for its holder, increments the epoch, and seals the journal of the earlier
//! epoch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_limits::count;

use super::Options;
use crate::backend::{self, Backend, Locality, Tag};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::head::contend::{Contender, Look, Turn};
use crate::head::protocol::{self, Claim, Event, Hold};
use crate::head::{Head, Holding};
use crate::history;
use crate::journal::segment::Seal;
use crate::journal::{fence, read, seal};
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, HolderId};
use crate::process::Identity;
use crate::runs::{self, Describe};
use crate::state::{self, Lost};
use crate::write::{Outcome, Writer};

/// Options for acquiring a cluster.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The operator, the operation and the process.
    pub identity: Identity,
    /// The uid of the cluster to create when there is none, or only a tombstone.
    pub create: Option<ClusterUid>,
    /// How long to wait for another holder. A holder that is silent for its full term is replaced, so a wait
    /// longer than the term always ends.
    pub wait: Option<Duration>,
    /// The holder to replace at once, alive or not: the operator knows that it is dead, or wants it to end.
    pub replace: Option<HolderId>,
    /// Whether a journal whose last segment is damaged is sealed nevertheless, as for a rebuilt state.
    pub over_damage: bool,
    /// Whether a journal whose last segment no key at hand opens is sealed nevertheless. Only for a state whose key is lost: a
    /// reader with the key does not see the records of this segment any more.
    pub over_lost_key: bool,
    /// Describes from its journal how far a replaced holder came.
    pub describe: Option<Describe>,
    /// Term, window, retries.
    pub options: Options,
}

impl Acquire {
    /// Acquires an existing cluster that has no holder.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            create: None,
            wait: None,
            replace: None,
            over_damage: false,
            over_lost_key: false,
            describe: None,
            options: Options::default(),
        }
    }

    /// Creates the cluster when there is none, or only a tombstone.
    #[must_use]
    pub fn create(self, uid: ClusterUid) -> Self {
        Self { create: Some(uid), ..self }
    }

    /// Waits for another holder.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait: Some(wait), ..self }
    }

    /// Replaces this holder at once, and no other.
    #[must_use]
    pub fn replace(self, holder: HolderId) -> Self {
        Self { replace: Some(holder), ..self }
    }

    /// Seals the journal also after a damaged segment.
    #[must_use]
    pub fn over_damage(self) -> Self {
        Self { over_damage: true, ..self }
    }

    /// Whether the seal of an epoch is written behind a last segment that cannot be read for this reason.
    pub(crate) fn seals_behind(&self, error: &backend::Error) -> bool {
        match error {
            backend::Error::Corrupt { .. } => self.over_damage,
            backend::Error::Sealed { .. } => self.over_lost_key,
            _ => false,
        }
    }

    /// Records the work of a replaced holder.
    #[must_use]
    pub fn describe(self, describe: Describe) -> Self {
        Self { describe: Some(describe), ..self }
    }

    /// Uses other options than the default.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }
}

/// An acquired cluster.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) head: Head,
    pub(super) tag: Tag,
    pub(super) hold: Hold,
    /// The time at which the acquiring write was sent.
    pub(super) sent: Duration,
}

/// Acquires the head, and seals the earlier epochs.
pub(super) async fn take(writer: &Writer, cluster: &ClusterName, acquire: &Acquire) -> Result<Taken> {
    let claim = Claim {
        id: HolderId::random()?,
        identity: acquire.identity.clone(),
        since: writer.clock.timestamp(),
        term: acquire.options.whole_term(),
        create: acquire.create.clone(),
    };
    let contending = Contending { writer, cluster, claim: &claim, acquire };
    let (before, taken) = contending.swap().await?;
    if let Some(before) = before
        && let Err(error) = contending.seal_all(&before, taken.head.epoch).await
    {
        contending.give_back(&taken).await;
        return Err(error);
    }
    Ok(taken)
}

struct Contending<'a> {
    writer: &'a Writer,
    cluster: &'a ClusterName,
    claim: &'a Claim,
    acquire: &'a Acquire,
}

impl Contending<'_> {
    /// Swaps the head. Returns it with the earlier one.
    async fn swap(&self) -> Result<(Option<Head>, Taken)> {
        let (clock, key) = (&*self.writer.clock, layout::head(self.cluster));
        let is_dead = |holder: &Holding| {
            self.acquire.replace.as_ref() == Some(&holder.id)
                || (self.writer.backend.locality() == Locality::Local && holder.process.is_surely_dead())
        };
        let begun = clock.elapsed();
        let mut contender = Contender::new(self.cluster.clone(), self.claim.clone());
        loop {
            let asked = clock.elapsed();
            let stored = match self.writer.get(&key).await? {
                Some((bytes, tag)) => Some((Head::decode(self.cluster, &bytes)?, tag)),
                None => None,
            };
            if let Some((head, _)) = &stored {
                read::refuse_unreached(&*self.writer.backend, head).await?;
            }
            let look = Look { asked, answered: clock.elapsed() };
            let seen = stored.as_ref().map(|(head, tag)| (head, tag));
            match contender.look(seen, look, is_dead, crate::random::hex()?) {
                Turn::Swap(_) if stored.is_none() && self.begun_meanwhile().await? => {}
                Turn::Swap(_) if self.is_replaced(stored.as_ref()).await? => {}
                Turn::Swap(mut next) => {
                    let (head, tag) = stored.unzip();
                    if let Some(tombstone) = head.as_ref().filter(|head| head.deleted) {
                        // The head of the new cluster describes its own commits only.
                        history::keep(self.writer, tombstone).await?;
                    }
                    let replaced = head.as_ref().filter(|head| head.holder.is_some());
                    let kept = match replaced {
                        Some(head) => {
                            runs::keep_interrupted(self.writer, head, self.acquire.describe).await?
                        }
                        None => None,
                    };
                    let is_reported = kept.as_ref().is_some_and(|(_, is_new)| *is_new);
                    // A deletion that did not end is named until the next commit: controllers create nothing again meanwhile.
                    let is_deletion = next.unfinished.as_ref().is_some_and(|run| run.operation == "delete");
                    if let Some((run, _)) = kept.filter(|_| !is_deletion) {
                        next.unfinished = Some(run);
                    }
                    let sent = clock.elapsed();
                    if let Outcome::Written(tag) =
                        self.writer.put(&key, &next.encode()?, tag.as_ref()).await?
                    {
                        let hold = Hold { epoch: next.epoch, id: self.claim.id.clone() };
                        return Ok((head, Taken { head: *next, tag, hold, sent }));
                    }
                    if let Some(head) = replaced.filter(|_| is_reported) {
                        runs::take_back(self.writer, head).await?;
                    }
                }
                Turn::Wait { holder, until } => {
                    let now = clock.elapsed();
                    let left =
                        self.acquire.wait.unwrap_or_default().saturating_sub(now.saturating_sub(begun));
                    if left.is_zero() {
                        return Err(self.held(&holder));
                    }
                    clock.sleep(pause(&holder, until.saturating_sub(now)).min(left)).await;
                }
                Turn::NoCluster => return Err(Error::NoCluster { cluster: self.cluster.clone() }),
            }
        }
    }

    /// Whether a cluster without a head has got one since. A cluster that had a head before is not created
    /// again.
    async fn begun_meanwhile(&self) -> Result<bool> {
        match state::lost(&*self.writer.backend, self.cluster).await? {
            Lost::Never => Ok(false),
            Lost::Begun(_) => Ok(true),
            Lost::Head(evidence) => Err(Error::HeadLost { cluster: self.cluster.clone(), evidence }),
        }
    }

    /// Whether another holder took the cluster since the head was read.
    ///
    /// # Errors
    /// [`Error::HeadReplaced`] when the head shows nothing of a later holder: an old head was put back.
    async fn is_replaced(&self, stored: Option<&(Head, Tag)>) -> Result<bool> {
        let Some((head, tag)) = stored else { return Ok(false) };
        let Some(evidence) = state::later_than(&*self.writer.backend, head).await? else { return Ok(false) };
        match self.writer.get(&layout::head(self.cluster)).await? {
            Some((_, now)) if now == *tag => Err(Error::replaced(head, &evidence)),
            _ => Ok(true),
        }
    }

    fn held(&self, holder: &Holding) -> Error {
        let held_for = self.writer.clock.timestamp().duration_since(holder.since);
        Error::Held {
            cluster: self.cluster.clone(),
            holder: Box::new(holder.clone()),
            held_for: held_for.try_into().unwrap_or_default(),
        }
    }

    /// Seals every epoch that may be unsealed: those that the snapshot does not include. The oldest comes
    /// first.
    async fn seal_all(&self, before: &Head, by: Epoch) -> Result<()> {
        let (seal, backend) = (Seal { by, who: self.claim.identity.who.clone() }, &*self.writer.backend);
        let newest = if before.epoch == before.journal_from.epoch {
            // It is sealed in any case.
            None
        } else {
            read::newest(backend, before).await?
        };
        // A damaged segment may have been a seal, and a missing one too.
        let over_damage = self.acquire.over_damage;
        let is_near = |newest: &Epoch| newest.0.saturating_sub(before.journal_from.epoch.0) <= count::EPOCHS;
        let newest = newest.filter(|newest| !over_damage || !is_near(newest));
        let mut unsealed = BTreeMap::new();
        if let (Some(newest), true) = (newest, over_damage) {
            // There are too many epochs to look at each: those that have segments are sealed.
            for epoch in read::all(backend, before).await? {
                unsealed.extend(fence::unsealed(before, Some(epoch)).next().map(|start| (epoch, start)));
                if epoch >= newest {
                    break;
                }
            }
        }
        unsealed.extend(fence::unsealed(before, newest).map(|start| (start.epoch, start)));
        for start in unsealed.into_values() {
            seal::seal(self.writer, self.cluster, start, &seal, self.acquire).await?;
        }
        Ok(())
    }

    /// Releases a cluster that cannot be used. If the release fails too, others have to wait for the term.
    async fn give_back(&self, taken: &Taken) {
        let next = crate::random::hex().ok().and_then(|salt| {
            protocol::apply(&taken.head, &taken.hold, &Event::Release(None), salt).ok()?.encode().ok()
        });
        if let Some(bytes) = next {
            let _ = self.writer.backend.update(&layout::head(self.cluster), bytes, &taken.tag).await;
        }
    }
}

/// The wait before the next look: about a thirtieth of the term, and at most until its end.
fn pause(holder: &Holding, until: Duration) -> Duration {
    let usual = (holder.lease.term() / 30).clamp(Duration::from_millis(50), Duration::from_secs(2));
    usual.min(until.max(Duration::from_millis(1)))
}

/// A writer for a backend.
pub(super) fn writer(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>, options: &Options) -> Writer {
    Writer { backend, clock, retry: options.retry }
}
