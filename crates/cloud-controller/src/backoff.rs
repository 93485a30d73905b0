//! When an object that could not be brought into its state is tried again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time after the first failure of a node. It doubles with each further one.
const FIRST: Duration = Duration::from_millis(250);
/// The longest time of a node.
const LONGEST: Duration = Duration::from_secs(300);

/// How long the watch may show an object as it was before a write.
const SETTLING: Duration = Duration::from_secs(2);

/// The objects that were tried, by name: how often they failed, and when they may be tried again.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    tried: HashMap<String, (u32, Instant)>,
}

impl Default for Backoff {
    /// The times of nodes.
    fn default() -> Self {
        Self::between([FIRST, LONGEST])
    }
}

impl Backoff {
    /// Other times: the first one, and the longest one.
    pub(crate) fn between([first, longest]: [Duration; 2]) -> Self {
        Self { first, longest, tried: HashMap::new() }
    }

    /// Whether an object may be tried.
    pub(crate) fn is_due(&self, name: &str, now: Instant) -> bool {
        self.tried.get(name).is_none_or(|(_, next)| *next <= now)
    }

    /// An attempt failed. Returns after which time the next one comes.
    pub(crate) fn failed(&mut self, name: &str, now: Instant) -> Duration {
        let (count, next) = self.tried.entry(name.to_owned()).or_insert((0, now));
        let wait = self.first.saturating_mul(1 << (*count).min(16)).min(self.longest);
        *count += 1;
        *next = now + wait;
        wait
    }

    /// An attempt had its effect. It is not repeated until the watch shows that.
    pub(crate) fn succeeded(&mut self, name: &str, now: Instant) {
        self.tried.insert(name.to_owned(), (0, now + SETTLING));
    }

    /// The next attempt comes at a moment, whatever failed before.
    pub(crate) fn wait(&mut self, name: &str, until: Instant) {
        let (_, next) = self.tried.entry(name.to_owned()).or_insert((0, until));
        *next = until;
    }

    /// Forgets an object that is in its state.
    pub(crate) fn forget(&mut self, name: &str) {
        self.tried.remove(name);
    }

    /// Whether an object was not tried yet.
    pub(crate) fn is_new(&self, name: &str) -> bool {
        !self.tried.contains_key(name)
    }

    /// Forgets objects that are not waiting any more.
    pub(crate) fn keep(&mut self, waiting: impl Fn(&str) -> bool) {
        self.tried.retain(|name, _| waiting(name));
    }

    /// When the next object may be tried again.
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
