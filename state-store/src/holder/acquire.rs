//! Taking a cluster: waiting for its holder to go, counting the epoch up, sealing the journal of the epoch before.

use std::sync::Arc;
use std::time::Duration;

use super::Options;
use crate::backend::{Backend, Locality, Tag};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::head::protocol::{self, Claim, Event, Hold, Presence, Refusal};
use crate::head::{Head, Holding, JournalStart};
use crate::journal::seal;
use crate::journal::segment::Seal;
use crate::layout;
use crate::name::{ClusterName, ClusterUid, Epoch, HolderId};
use crate::process::Identity;
use crate::write::{Outcome, Writer};

/// How a cluster is to be taken.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// Who, to do what, in which process.
    pub identity: Identity,
    /// The uid of the cluster that is to be made when there is none, or only a tombstone.
    pub create: Option<ClusterUid>,
    /// How long to wait for another holder. It is replaced when it was silent for its full term, so that waiting for
    /// more than the term always ends.
    pub wait: Option<Duration>,
    /// Term, window, retries.
    pub options: Options,
}

impl Acquire {
    /// Takes a cluster that exists and that nobody holds.
    pub fn new(identity: Identity) -> Self {
        Self { identity, create: None, wait: None, options: Options::default() }
    }

    /// Makes the cluster when there is none, or only a tombstone.
    #[must_use]
    pub fn create(self, uid: ClusterUid) -> Self {
        Self { create: Some(uid), ..self }
    }

    /// Waits for another holder.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait: Some(wait), ..self }
    }

    /// Other options than the usual ones.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }
}

/// What was taken.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) head: Head,
    pub(super) tag: Tag,
    pub(super) hold: Hold,
    /// When the write that took it was sent.
    pub(super) sent: Duration,
}

/// Takes the head, and seals the epochs before.
pub(super) async fn take(writer: &Writer, cluster: &ClusterName, acquire: &Acquire) -> Result<Taken> {
    let claim = Claim {
        id: HolderId::random()?,
        identity: acquire.identity.clone(),
        since: writer.clock.timestamp(),
        term: acquire.options.whole_term(),
        create: acquire.create.clone(),
    };
    let contender = Contender { writer, cluster, claim: &claim, wait: acquire.wait };
    let (before, taken) = contender.swap().await?;
    if let Some(before) = before
        && let Err(error) = contender.seal_all(&before, taken.head.epoch).await
    {
        contender.give_back(&taken).await;
        return Err(error);
    }
    Ok(taken)
}

struct Contender<'a> {
    writer: &'a Writer,
    cluster: &'a ClusterName,
    claim: &'a Claim,
    wait: Option<Duration>,
}

/// A version of the head, and when it was first seen.
struct Watch {
    tag: Tag,
    since: Duration,
}

impl Contender<'_> {
    /// Swaps the head, with the one before.
    async fn swap(&self) -> Result<(Option<Head>, Taken)> {
        let (clock, key) = (&*self.writer.clock, layout::head(self.cluster));
        let begun = clock.elapsed();
        let mut watch: Option<Watch> = None;
        loop {
            let asked = clock.elapsed();
            let stored = self.writer.get(&key).await?;
            let stored = match stored {
                Some((bytes, tag)) => Some((Head::decode(self.cluster, &bytes)?, tag)),
                None => None,
            };
            let presence = match &stored {
                Some((Head { holder: Some(holder), .. }, tag)) => {
                    self.presence(holder, tag, asked, &mut watch)
                }
                _ => Presence::Assumed,
            };
            let (head, tag) = stored.unzip();
            let salt = crate::random::hex()?;
            match protocol::acquire(self.cluster, head.as_ref(), self.claim, presence, salt) {
                Ok(next) => {
                    let sent = clock.elapsed();
                    if let Outcome::Written(tag) =
                        self.writer.put(&key, &next.encode()?, tag.as_ref()).await?
                    {
                        let hold = Hold { epoch: next.epoch, id: self.claim.id.clone() };
                        return Ok((head, Taken { head: next, tag, hold, sent }));
                    }
                }
                Err(Refusal::Held(holder)) => {
                    let now = clock.elapsed();
                    let left = self.wait.unwrap_or_default().saturating_sub(now.saturating_sub(begun));
                    if left.is_zero() {
                        return Err(self.held(&holder));
                    }
                    let until = watch.as_ref().map_or(now, |watch| watch.since + term(&holder));
                    clock.sleep(pause(&holder, until.saturating_sub(now)).min(left)).await;
                }
                Err(Refusal::Lost { .. } | Refusal::NoCluster | Refusal::OutOfTurn { .. }) => {
                    return Err(Error::NoCluster { cluster: self.cluster.clone() });
                }
            }
        }
    }

    /// What is known of the holder, from a head that was asked for at `asked`.
    fn presence(&self, holder: &Holding, tag: &Tag, asked: Duration, watch: &mut Option<Watch>) -> Presence {
        if self.writer.backend.locality() == Locality::Local && holder.process.is_surely_dead() {
            return Presence::Dead;
        }
        match watch {
            Some(watch) if watch.tag == *tag => {
                if asked.saturating_sub(watch.since) >= term(holder) {
                    return Presence::Silent;
                }
            }
            // It counts from when the answer was there: what it shows was sent before.
            _ => *watch = Some(Watch { tag: tag.clone(), since: self.writer.clock.elapsed() }),
        }
        Presence::Assumed
    }

    fn held(&self, holder: &Holding) -> Error {
        let held_for = self.writer.clock.timestamp().duration_since(holder.since);
        Error::Held {
            cluster: self.cluster.clone(),
            holder: Box::new(holder.clone()),
            held_for: held_for.try_into().unwrap_or_default(),
        }
    }

    /// Seals every epoch that may not be sealed: those that the snapshot does not include. The oldest comes first.
    async fn seal_all(&self, before: &Head, by: Epoch) -> Result<()> {
        let seal = Seal { by, who: self.claim.identity.who.clone() };
        let start = before.journal_from;
        for epoch in (start.epoch.0..=before.epoch.0).map(Epoch) {
            let start = if epoch == start.epoch { start } else { JournalStart::of(epoch) };
            seal::seal(self.writer, self.cluster, start, &seal).await?;
        }
        Ok(())
    }

    /// Lets others take what cannot be used; if that fails too, they have to wait for the term.
    async fn give_back(&self, taken: &Taken) {
        let next = crate::random::hex().ok().and_then(|salt| {
            protocol::apply(&taken.head, &taken.hold, &Event::Release(None), salt).ok()?.encode().ok()
        });
        if let Some(bytes) = next {
            let _ = self.writer.backend.update(&layout::head(self.cluster), bytes, &taken.tag).await;
        }
    }
}

fn term(holder: &Holding) -> Duration {
    Duration::from_secs(holder.lease.term_seconds)
}

/// How long to wait before looking again: about thirty times within a term, and right when it ends.
fn pause(holder: &Holding, until: Duration) -> Duration {
    let usual = (term(holder) / 30).clamp(Duration::from_millis(50), Duration::from_secs(2));
    usual.min(until.max(Duration::from_millis(1)))
}

/// A writer for a backend.
pub(super) fn writer(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>, options: &Options) -> Writer {
    Writer { backend, clock, retry: options.retry }
}
