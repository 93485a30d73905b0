//! The heads of clusters, which show that a person has done something for a cluster whose plan waits.

use futures_util::{StreamExt as _, stream};
use slipway_state_store::{ClusterName, Epoch, Generation, Head, read_head};

use crate::shared::Shared;

/// How many heads are read at once.
const AT_ONCE: usize = 16;

/// What a head shows about runs: each takes an epoch, and each commit makes a generation. `None` for a cluster without a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark(Option<(Generation, Epoch)>);

impl Mark {
    /// The mark of a head.
    pub fn of(head: Option<&Head>) -> Self {
        Self(head.map(|head| (head.generation, head.epoch)))
    }

    fn generation(&self) -> u64 {
        self.0.as_ref().map_or(0, |(generation, _)| generation.0)
    }
}

/// A cluster whose plan waits for a person, a moment or other clusters.
#[derive(Debug)]
pub(crate) struct Watched {
    pub cluster: String,
    /// The mark of its head at the last look; `None` if that did not read it, as after a restart.
    pub known: Option<Mark>,
    /// The generation that its last plan was made for.
    pub planned: Option<u64>,
}

/// The head of a watched cluster.
#[derive(Debug)]
pub(crate) struct Noticed {
    pub cluster: String,
    pub mark: Mark,
    /// Whether another actor has worked on the cluster since its last look.
    pub is_changed: bool,
}

/// Looks at the heads of clusters. Those that are held or cannot be read now are left out: they are looked at again by the next
/// poll. So are those that a slow store does not answer for in a quarter of the term, so that the next sign of life is in time.
pub(crate) async fn look(shared: &Shared, watched: Vec<Watched>) -> Vec<Noticed> {
    let look = |watched: Watched| async move {
        let name = ClusterName::new(watched.cluster.as_str()).ok()?;
        let head = read_head(&*shared.backend, &name).await.ok()?.map(|(head, _)| head);
        if head.as_ref().is_some_and(|head| head.holder.is_some()) {
            return None;
        }
        Some(notice(watched, Mark::of(head.as_ref())))
    };
    stream::iter(watched)
        .map(look)
        .buffer_unordered(AT_ONCE)
        .filter_map(|noticed| async move { noticed })
        .take_until(tokio::time::sleep(shared.configuration.term() / 4))
        .collect()
        .await
}

fn notice(watched: Watched, mark: Mark) -> Noticed {
    let is_changed = match &watched.known {
        Some(known) => *known != mark,
        None => watched.planned.is_some_and(|planned| planned != mark.generation()),
    };
    Noticed { cluster: watched.cluster, mark, is_changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_since_the_last_look_is_noticed() {
        let mark = |generation, epoch| Mark(Some((Generation(generation), Epoch(epoch))));
        let changed = |known: Option<Mark>, planned, now| {
            notice(Watched { cluster: "dev".into(), known, planned }, now).is_changed
        };
        assert!(!changed(Some(mark(3, 5)), Some(2), mark(3, 5)));
        assert!(changed(Some(mark(3, 5)), Some(3), mark(4, 6)));
        assert!(changed(Some(mark(3, 5)), Some(3), mark(3, 6)), "a run that failed");
        assert!(changed(Some(Mark(None)), None, mark(1, 1)));
        // After a restart only the plan is known.
        assert!(!changed(None, Some(3), mark(3, 6)));
        assert!(changed(None, Some(3), mark(4, 6)));
        assert!(!changed(None, Some(0), Mark(None)));
        assert!(!changed(None, None, mark(4, 6)));
    }
}
