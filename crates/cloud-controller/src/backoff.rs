//! When a node that could not be initialised is tried again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time after the first failure. It doubles with each further one.
const FIRST: Duration = Duration::from_millis(250);
/// The longest time.
const LONGEST: Duration = Duration::from_secs(300);

/// How long the watch may show a node as it was before it was initialised.
const SETTLING: Duration = Duration::from_secs(2);

/// The nodes that were tried, by name: how often they failed, and when they may be tried again.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tried: HashMap<String, (u32, Instant)>,
}

impl Backoff {
    /// Whether a node may be tried.
    pub(crate) fn is_due(&self, node: &str, now: Instant) -> bool {
        self.tried.get(node).is_none_or(|(_, next)| *next <= now)
    }

    /// A node could not be initialised. Returns when it is tried again.
    pub(crate) fn failed(&mut self, node: &str, now: Instant) -> Duration {
        let (count, next) = self.tried.entry(node.to_owned()).or_insert((0, now));
        let wait = FIRST.saturating_mul(1 << (*count).min(16)).min(LONGEST);
        *count += 1;
        *next = now + wait;
        wait
    }

    /// A node was initialised. It is not tried again until the watch shows that.
    pub(crate) fn succeeded(&mut self, node: &str, now: Instant) {
        self.tried.insert(node.to_owned(), (0, now + SETTLING));
    }

    /// Whether a node was not tried yet.
    pub(crate) fn is_new(&self, node: &str) -> bool {
        !self.tried.contains_key(node)
    }

    /// Forgets nodes that are not waiting any more.
    pub(crate) fn keep(&mut self, waiting: impl Fn(&str) -> bool) {
        self.tried.retain(|node, _| waiting(node));
    }

    /// When the next node may be tried again.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.tried.values().map(|(_, next)| *next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_time_up_to_five_minutes() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let waits: Vec<u128> = (0..12).map(|_| backoff.failed("a", now).as_millis()).collect();
        assert_eq!(waits[..4], [250, 500, 1000, 2000]);
        assert_eq!(waits[11], 300_000);
        assert!(!backoff.is_due("a", now) && backoff.is_due("b", now));
        assert!(backoff.is_due("a", now + LONGEST));
        backoff.succeeded("a", now);
        assert!(!backoff.is_due("a", now) && backoff.is_due("a", now + SETTLING));
        backoff.keep(|node| node != "a");
        assert!(backoff.is_new("a") && backoff.is_due("a", now) && backoff.next().is_none());
    }
}
