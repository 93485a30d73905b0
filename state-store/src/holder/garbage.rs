//! Removing what later commits replaced.

use std::collections::BTreeMap;

use super::Holder;
use crate::backend::{self, Key};
use crate::error::Result;
use crate::layout;
use crate::name::Epoch;

/// How much was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Snapshots of earlier generations.
    pub snapshots: usize,
    /// Segments of the journal that the current snapshot includes.
    pub segments: usize,
}

impl Holder {
    /// Removes the segments that the current snapshot includes, and all but the newest `keep` of the snapshots before
    /// it. It takes two listings, and one call for each object that is removed.
    ///
    /// The last segment of each earlier epoch stays: it is the seal, and without it somebody who held the cluster then
    /// and wakes up now could append again, and believe that it counts.
    ///
    /// # Errors
    /// When something cannot be listed or removed; what was removed until then was not needed.
    pub async fn collect_garbage(&self, keep: usize) -> Result<Collected> {
        self.hold.held()?;
        let head = self.head();
        let (backend, cluster) = (&self.writer.backend, &self.hold.cluster);
        let current = head.snapshot.map(|snapshot| snapshot.key);

        let mut snapshots = backend.list(&layout::snapshots(cluster)).await?;
        // Later ones belong to commits that did not happen, or not yet.
        let is_before = |key: &Key| {
            current.as_deref() != Some(key.as_str()) && generation(key) <= Some(head.generation.0)
        };
        snapshots.retain(is_before);
        snapshots.truncate(snapshots.len().saturating_sub(keep));

        let mut epochs: BTreeMap<Epoch, Vec<Key>> = BTreeMap::new();
        for key in backend.list(&layout::journals(cluster)).await? {
            let epoch =
                layout::epoch(&key).ok_or_else(|| backend::Error::corrupt(&key, "it is no segment"))?;
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
            segments.append(&mut keys);
        }
        for key in snapshots.iter().chain(&segments) {
            backend.delete(key).await?;
        }
        Ok(Collected { snapshots: snapshots.len(), segments: segments.len() })
    }
}

/// The generation that a snapshot's key names; nothing comes before any number.
fn generation(key: &Key) -> Option<u64> {
    key.name().split_once('-')?.0.parse().ok()
}
