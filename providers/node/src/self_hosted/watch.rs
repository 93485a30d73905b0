//! When the manifest of a component is given to the kubelet, and when it is taken away again.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::seen::Seen;

/// How long no container of a component runs until its manifest is given to the kubelet.
const ABSENT: Duration = Duration::from_secs(20);

/// How long the pod of a DaemonSet runs without a restart until the manifest is taken away. Both answer at the same port, so that the
/// time stands for its readiness.
const STEADY: Duration = Duration::from_secs(30);

/// The longest such time, for a pod that ended again and again.
const LONGEST: Duration = Duration::from_secs(960);

/// A pod that runs for this long after the manifest was taken away is taken for a good one.
const GOOD: Duration = Duration::from_secs(600);

/// What is to be done about the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The kubelet gets it.
    Give,
    /// It is taken from the kubelet.
    Take,
}

/// What was seen of a component.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// Since when nothing of it runs.
    absent_since: Option<Instant>,
    /// The containers of the DaemonSet's pods, and since when these run.
    steady_since: Option<(BTreeSet<String>, Instant)>,
    /// When the manifest was taken away last.
    taken_at: Option<Instant>,
    /// How long the pod of the DaemonSet must run until the manifest is taken away.
    patience: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self { absent_since: None, steady_since: None, taken_at: None, patience: STEADY }
    }
}

impl Watch {
    /// Takes what the runtime shows now, with whether the manifest is in the kubelet's folder. Returns what is to be done.
    pub(super) fn look(&mut self, seen: &Seen, has_manifest: bool, now: Instant) -> Option<Action> {
        let containers = seen.containers();
        let is_hosted = !containers.is_empty();
        self.steady_since = match self.steady_since.take() {
            _ if !is_hosted => None,
            Some((same, since)) if same == containers => Some((same, since)),
            _ => Some((containers, now)),
        };
        if is_hosted || seen.from_file {
            self.absent_since = None;
        } else {
            let since = *self.absent_since.get_or_insert(now);
            if now.duration_since(since) >= ABSENT {
                self.absent_since = Some(now);
                self.is_lost(now);
                return Some(Action::Give);
            }
        }
        let since = self.steady_since.as_ref().map(|(_, since)| *since)?;
        if has_manifest && now.duration_since(since) >= self.patience {
            self.taken_at = Some(now);
            return Some(Action::Take);
        }
        None
    }

    /// Forgets since when something is so, because the runtime did not tell in between.
    pub(super) fn interrupted(&mut self) {
        self.absent_since = None;
        self.steady_since = None;
    }

    /// A pod that ends soon after it was trusted has to run for longer the next time.
    fn is_lost(&mut self, now: Instant) {
        let Some(taken_at) = self.taken_at.take() else { return };
        self.patience = match now.duration_since(taken_at) < GOOD {
            true => (self.patience * 2).min(LONGEST),
            false => STEADY,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen::Hosted;
    use super::*;

    fn hosted(container: &str) -> Seen {
        let containers = BTreeSet::from([container.to_owned()]);
        Seen {
            hosted: vec![Hosted { pod: "p".to_owned(), revision: "one".to_owned(), containers }],
            from_file: false,
        }
    }

    fn both(container: &str) -> Seen {
        Seen { from_file: true, ..hosted(container) }
    }

    /// What a watch does each second, for what it sees then.
    fn actions(seen: &[(u64, Seen, bool)]) -> Vec<(u64, Action)> {
        let begun = Instant::now();
        let mut watch = Watch::default();
        let look = |(second, seen, has_manifest): &(u64, Seen, bool)| {
            let now = begun + Duration::from_secs(*second);
            Some((*second, watch.look(seen, *has_manifest, now)?))
        };
        seen.iter().filter_map(look).collect()
    }

    #[test]
    fn the_manifest_comes_when_nothing_runs_and_leaves_when_the_pod_is_back() {
        let nothing = Seen::default();
        let file = Seen { from_file: true, ..Seen::default() };
        let done = actions(&[
            (0, hosted("a"), false),
            (1, nothing.clone(), false),
            (20, nothing.clone(), false),
            (21, nothing.clone(), false),
            // The kubelet is at work.
            (30, nothing, true),
            (35, file.clone(), true),
            (100, file, true),
            (101, both("b"), true),
            (130, both("b"), true),
            (131, both("b"), true),
            (132, hosted("b"), false),
        ]);
        assert_eq!(done, [(21, Action::Give), (131, Action::Take)]);
    }

    #[test]
    fn the_manifest_stays_while_the_pod_restarts() {
        let done = actions(&[
            (0, both("a"), true),
            (29, both("b"), true),
            (58, both("c"), true),
            (87, both("c"), true),
            (88, both("c"), true),
        ]);
        assert_eq!(done, [(88, Action::Take)]);
    }

    #[test]
    fn a_pod_that_ended_soon_has_to_run_for_longer() {
        let nothing = Seen::default();
        let done = actions(&[
            (0, both("a"), true),
            (30, both("a"), true),
            (31, nothing.clone(), false),
            (51, nothing, false),
            (55, both("b"), true),
            (85, both("b"), true),
            (115, both("b"), true),
        ]);
        assert_eq!(done, [(30, Action::Take), (51, Action::Give), (115, Action::Take)]);
    }

    #[test]
    fn nothing_is_done_about_times_that_were_not_seen() {
        let begun = Instant::now();
        let mut watch = Watch::default();
        let nothing = Seen::default();
        assert_eq!(watch.look(&nothing, false, begun), None);
        watch.interrupted();
        assert_eq!(watch.look(&nothing, false, begun + ABSENT), None);
        assert_eq!(watch.look(&nothing, false, begun + ABSENT * 2), Some(Action::Give));
    }
}
