//! Watching the clusters whose plans wait: a person can apply them at any time.

use tokio::time::Instant;

use super::Controller;
use crate::heads::{Noticed, Watched};

/// How many heads one poll looks at. If more clusters wait, the polls take turns.
const HEADS: usize = 64;

impl Controller {
    /// The clusters of this replica whose heads the next poll looks at.
    pub(super) fn watched(&mut self) -> Vec<Watched> {
        let mut waiting: Vec<Watched> = self
            .clusters
            .iter()
            .filter(|(_, entry)| entry.is_waiting())
            .filter_map(|(name, entry)| {
                let status = entry.status.as_ref().filter(|status| status.ends_with_run())?;
                let planned = status.plan.as_ref().map(|plan| plan.generation);
                Some(Watched { cluster: name.clone(), known: entry.mark.clone(), planned })
            })
            .collect();
        let first = waiting.partition_point(|watched| watched.cluster <= self.last_watched);
        waiting.rotate_left(first);
        waiting.truncate(HEADS);
        if let Some(last) = waiting.last() {
            self.last_watched.clone_from(&last.cluster);
        }
        waiting
    }

    /// Lets clusters be planned on which another actor has worked.
    pub(super) fn take_heads(&mut self, noticed: Vec<Noticed>, now: Instant) {
        for Noticed { cluster, mark, is_changed } in noticed {
            let Some(entry) = self.clusters.get_mut(&cluster).filter(|entry| entry.running.is_none()) else {
                continue;
            };
            entry.mark = Some(mark);
            if is_changed {
                entry.wake(now);
            }
        }
    }
}
