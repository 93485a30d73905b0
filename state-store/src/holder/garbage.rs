//! Removes objects that are not needed any more, according to a retention.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde::Serialize;

use super::Holder;
use crate::backend::{self, Backend, Key};
use crate::digest::Digest;
use crate::error::Result;
use crate::head::Head;
use crate::history::{self, Entry};
use crate::layout;
use crate::name::{ClusterName, Epoch, Generation};
use crate::readable::{Readable, opened};
use crate::{approvals, plans, verify};

/// Number of objects that are read or removed at once.
const AT_ONCE: usize = 16;

/// The objects to keep besides the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Number of generations to keep before the present one.
    pub generations: usize,
    /// Also keep generations that were replaced more recently than this.
    pub age: Duration,
}

impl Retention {
    /// Keeps this number of generations before the present one, whatever their age.
    pub fn generations(generations: usize) -> Self {
        Self { generations, age: Duration::ZERO }
    }
}

/// The objects to remove, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// Snapshots of earlier generations. Their records in the history stay.
    pub snapshots: Vec<String>,
    /// Segments of the journal that the present snapshot includes.
    pub segments: Vec<String>,
    /// Plans that can no longer be applied, and that made no kept generation.
    pub plans: Vec<String>,
    /// Approvals of such plans.
    pub approvals: Vec<String>,
    /// Snapshots of commits that did not happen.
    pub strays: Vec<String>,
    /// Records, plans and approvals that no key at hand opens. They stay, with the snapshots of their generations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<String>,
}

impl Garbage {
    /// The number of objects to remove.
    pub fn len(&self) -> usize {
        self.keys().count()
    }

    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn keys(&self) -> impl Iterator<Item = &String> {
        let groups = [&self.snapshots, &self.segments, &self.plans, &self.approvals, &self.strays];
        groups.into_iter().flatten()
    }
}

/// Finds the objects of a cluster that a retention does not keep. Removes nothing. Costs one listing for each
/// kind of object, and one call for each record of the history and each stored plan.
///
/// # Errors
/// When an object cannot be listed or read.
pub async fn find(
    backend: &dyn Backend,
    head: &Head,
    retention: Retention,
    now: Timestamp,
) -> Result<Garbage> {
    let cluster = &head.cluster;
    let Readable { records: entries, unopened } = history::readable(backend, cluster, usize::MAX).await?;
    let unknown: BTreeSet<Generation> = unopened.iter().filter_map(layout::generation).collect();
    let kept = kept(head, &entries, retention, now);
    // For generations without a record, only the number shows the age.
    let listed: BTreeSet<Generation> = entries.iter().map(|entry| entry.generation).collect();
    let is_kept = |generation: Generation| {
        let distance = head.generation.0.saturating_sub(generation.0);
        kept.contains(&generation)
            || unknown.contains(&generation)
            || (!listed.contains(&generation) && distance <= retention.generations as u64)
    };
    let mut garbage = Garbage { segments: segments(backend, head).await?, ..Garbage::default() };
    garbage.unopened.extend(unopened.iter().map(Key::to_string));
    for key in backend.list(&layout::snapshots(cluster)).await? {
        if verify::is_stray(head, &entries, &key) {
            garbage.strays.push(key.to_string());
        } else if layout::generation(&key).is_some_and(|generation| !is_kept(generation)) {
            garbage.snapshots.push(key.to_string());
        }
    }
    let made: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| kept.contains(&entry.generation))
        .filter_map(|entry| entry.commit.plan_digest.as_deref())
        .collect();
    let needed =
        |of: Generation, plan: Digest| kept.contains(&of) || made.contains(plan.to_string().as_str());
    plans_and_approvals(backend, cluster, needed, &mut garbage).await?;
    Ok(garbage)
}

/// The generations whose state is kept, with the present one.
fn kept(head: &Head, entries: &[Entry], retention: Retention, now: Timestamp) -> BTreeSet<Generation> {
    let mut kept = BTreeSet::from([head.generation]);
    // The newest comes first; each was replaced when the one before it in the list was made.
    let mut replaced = None;
    for (position, entry) in entries.iter().enumerate() {
        let is_young = replaced.is_some_and(|when: Timestamp| {
            let age = now.duration_since(when);
            // A time in the future, by another clock, counts as new.
            !retention.age.is_zero() && (age.is_negative() || age.unsigned_abs() < retention.age)
        });
        if position <= retention.generations || is_young {
            kept.insert(entry.generation);
        }
        replaced = Some(entry.commit.when);
    }
    kept
}

/// All but the last segment of earlier epochs. The last is the seal. Without it, an earlier holder that
/// resumes could append again, and believe that its records are valid.
async fn segments(backend: &dyn Backend, head: &Head) -> Result<Vec<String>> {
    let mut epochs: BTreeMap<Epoch, Vec<Key>> = BTreeMap::new();
    for key in backend.list(&layout::journals(&head.cluster)).await? {
        let epoch =
            layout::epoch(&key).ok_or_else(|| backend::Error::corrupt(&key, "it is not a segment"))?;
        epochs.entry(epoch).or_default().push(key);
    }
    let start = head.journal_from;
    let mut segments = Vec::new();
    for (epoch, mut keys) in epochs {
        if epoch < start.epoch {
            keys.pop();
        } else if epoch == start.epoch {
            keys.retain(|key| layout::sequence(key) < Some(start.sequence));
        } else {
            keys.clear();
        }
        segments.extend(keys.iter().map(Key::to_string));
    }
    Ok(segments)
}

/// Plans and approvals that can no longer be used.
async fn plans_and_approvals(
    backend: &dyn Backend,
    cluster: &ClusterName,
    needed: impl Fn(Generation, Digest) -> bool,
    garbage: &mut Garbage,
) -> Result<()> {
    let digests = plans::find(backend, cluster, "").await?;
    let read = |digest| async move {
        let read = plans::read(backend, cluster, digest).await;
        opened(layout::plan(cluster, digest), read)
    };
    let stored: Vec<_> = stream::iter(digests).map(read).buffered(AT_ONCE).try_collect().await?;
    let stored = Readable::of(stored.into_iter().flatten());
    garbage.unopened.extend(stored.unopened.iter().map(Key::to_string));
    for plans::StoredPlan { about, .. } in stored.records {
        if !needed(about.generation, about.plan) {
            garbage.plans.push(layout::plan(cluster, about.plan).to_string());
        }
    }
    let given = approvals::readable(backend, cluster).await?;
    garbage.unopened.extend(given.unopened.iter().map(Key::to_string));
    for approval in given.records {
        if !needed(approval.generation, approval.plan) {
            garbage.approvals.push(approval.key().to_string());
        }
    }
    Ok(())
}

impl Holder {
    /// Removes the objects that the retention does not keep, and returns them.
    ///
    /// # Errors
    /// When an object cannot be listed, read or removed. Objects that were removed until then were not
    /// needed.
    pub async fn collect_garbage(&self, retention: Retention) -> Result<Garbage> {
        self.hold.held()?;
        let (head, now) = (self.head(), self.writer.clock.timestamp());
        let backend = &*self.writer.backend;
        let garbage = find(backend, &head, retention, now).await?;
        stream::iter(garbage.keys().map(Ok))
            .try_for_each_concurrent(AT_ONCE, |key| async move {
                let key = Key::new(key.as_str())?;
                backend.delete(&key).await.map_err(crate::Error::from)
            })
            .await?;
        Ok(garbage)
    }
}
