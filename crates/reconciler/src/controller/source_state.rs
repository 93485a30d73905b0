//! A source as the controller knows it, and when it is read next.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;
use crate::job::Content;
use crate::source::Reader;

/// The shortest time between the beginnings of two reads on request.
const GAP: Duration = Duration::from_secs(1);

/// A source as the controller knows it.
pub(super) struct SourceState {
    /// The reader; none while a job reads the source.
    pub reader: Option<Reader>,
    /// Its folder or URL.
    pub place: String,
    /// What was read last.
    pub content: Option<Content>,
    /// Why the last read failed.
    pub failed: Option<Error>,
    /// How often in a row a read failed.
    pub failures: u32,
    /// When it is read next.
    pub due: Instant,
    /// When the last read began.
    began: Option<Instant>,
    /// Whether a read was requested while one ran.
    is_asked: bool,
    /// Whether the clusters of the source are planned after the next read that begins.
    with_clusters: bool,
    /// The same for the read that runs.
    wakes: bool,
}

impl SourceState {
    pub fn new(reader: Reader, due: Instant) -> Self {
        Self {
            place: reader.place(),
            reader: Some(reader),
            content: None,
            failed: None,
            failures: 0,
            due,
            began: None,
            is_asked: false,
            with_clusters: false,
            wakes: false,
        }
    }

    /// Begins a read if one is due and none runs.
    pub fn begin(&mut self, now: Instant) -> Option<Reader> {
        if self.due > now {
            return None;
        }
        let reader = self.reader.take()?;
        self.began = Some(now);
        self.wakes = std::mem::take(&mut self.with_clusters);
        Some(reader)
    }

    /// Takes the reader back. The next read is due at `next`, or earlier if somebody asked during this one. Returns whether the
    /// clusters of the source are planned now.
    pub fn ended(&mut self, reader: Reader, next: Instant, now: Instant) -> bool {
        self.reader = Some(reader);
        self.due = next;
        if std::mem::take(&mut self.is_asked) {
            self.ask(now);
        }
        std::mem::take(&mut self.wakes)
    }

    /// Asks for a read as [`Self::ask`] does. The clusters of the source are planned after it, also if it fails.
    pub fn ask_with_clusters(&mut self, now: Instant) {
        self.with_clusters = true;
        self.ask(now);
    }

    /// Asks for a read: now, and at the earliest a second after the last one began. A read that runs may have missed a change,
    /// so another one follows it.
    pub fn ask(&mut self, now: Instant) {
        if self.reader.is_none() {
            self.is_asked = true;
            return;
        }
        let soonest = self.began.map_or(now, |began| now.max(began + GAP));
        self.due = self.due.min(soonest);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::configuration::Configuration;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn state(due: Instant) -> SourceState {
        let text = "data = 'd'\n[[source]]\nname = 's'\nfolder = 'f'\n";
        let read = Configuration::parse(text, Path::new("controller.toml"), Path::new("/")).unwrap();
        SourceState::new(Reader::new(&read.sources[0], Path::new("/d")), due)
    }

    #[test]
    fn a_read_that_is_asked_for_comes_a_second_after_the_last_one() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let mut state = state(begun);
        let reader = state.begin(begun).unwrap();
        assert!(state.begin(begun).is_none(), "one runs");
        state.ended(reader, begun + HOUR, at(10));
        assert!(state.begin(at(20)).is_none(), "none is due");
        for _ in 0..1_000 {
            state.ask(at(30));
        }
        assert!(state.begin(at(999)).is_none());
        let reader = state.begin(at(1_000)).unwrap();
        state.ended(reader, begun + HOUR, at(1_010));
        assert!(state.begin(at(5_000)).is_none(), "all that waited were one");
        state.ask(at(6_000));
        assert!(state.begin(at(6_000)).is_some(), "after a while at once");
    }

    #[test]
    fn a_read_that_runs_is_followed_by_one_that_was_asked_for_meanwhile() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let mut state = state(begun);
        let reader = state.begin(begun).unwrap();
        state.ask(at(500));
        state.ended(reader, begun + HOUR, at(3_000));
        let reader = state.begin(at(3_000)).unwrap();
        state.ended(reader, begun + HOUR, at(3_010));
        assert!(state.begin(at(9_000)).is_none());
        // Clusters are planned after a read that began after they were asked for.
        state.due = at(9_100);
        let reader = state.begin(at(9_100)).unwrap();
        state.ask_with_clusters(at(9_110));
        assert!(!state.ended(reader, begun + HOUR, at(9_120)));
        let reader = state.begin(at(10_100)).unwrap();
        assert!(state.ended(reader, begun + HOUR, at(10_110)));
        // A source that is due earlier anyway stays so.
        state.due = at(19_500);
        state.ask(at(19_900));
        assert_eq!(state.due, at(19_500));
    }
}
