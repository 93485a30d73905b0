//! The reviews of a source as the controller knows them, and when pull requests are looked at next.

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_limits::count;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::reviews::{Desk, Wanted};
use crate::status::Problem;

/// The shortest time between the beginnings of two looks.
const GAP: Duration = Duration::from_secs(1);

/// The reviews of a source.
pub(super) struct ReviewState {
    /// The reviews; none while a job looks at pull requests.
    desk: Option<Box<Desk>>,
    /// When all open pull requests are looked at.
    due: Instant,
    /// Pull requests that are looked at by themselves, and when.
    asked: BTreeMap<u64, Instant>,
    /// When the last look began.
    began: Option<Instant>,
    /// Until when the forge is left alone.
    rests: Option<Instant>,
    /// Ends the look that runs.
    stop: CancellationToken,
    /// Why the last look failed.
    pub failed: Option<Problem>,
    /// How often in a row a look failed.
    pub failures: u32,
}

impl ReviewState {
    pub fn new(desk: Box<Desk>, due: Instant) -> Self {
        Self {
            desk: Some(desk),
            due,
            asked: BTreeMap::new(),
            began: None,
            rests: None,
            stop: CancellationToken::new(),
            failed: None,
            failures: 0,
        }
    }

    /// When the next look may begin; `None` while one runs.
    pub fn due(&self) -> Option<Instant> {
        self.desk.as_ref()?;
        let first = self.asked.values().fold(self.due, |first, due| first.min(*due));
        let next = self.began.map(|began| began + GAP).max(self.rests);
        Some(next.map_or(first, |next| first.max(next)))
    }

    /// Leaves the forge alone for a while, whatever is asked for.
    pub fn rest(&mut self, until: Instant) {
        self.rests = self.rests.max(Some(until));
    }

    /// What ends a look that begins now: the end of the controller, or [`Self::give_up`].
    pub fn stop(&mut self, ending: &CancellationToken) -> CancellationToken {
        self.stop = ending.child_token();
        self.stop.clone()
    }

    /// Gives the look up that runs, for another replica.
    pub fn give_up(&self) {
        self.stop.cancel();
    }

    /// Asks for a look at all open pull requests.
    pub fn ask_all(&mut self, now: Instant) {
        self.due = self.due.min(now);
    }

    /// Asks for a look at one pull request.
    pub fn ask(&mut self, number: u64, at: Instant) {
        if self.asked.len() >= count::PULL_REQUESTS && !self.asked.contains_key(&number) {
            return self.ask_all(at);
        }
        let due = self.asked.entry(number).or_insert(at);
        *due = at.min(*due);
    }

    /// Begins a look if one is due and none runs.
    pub fn begin(&mut self, now: Instant, interval: Duration) -> Option<(Box<Desk>, Wanted)> {
        if self.due()? > now {
            return None;
        }
        let desk = self.desk.take()?;
        self.began = Some(now);
        if self.due <= now {
            self.due = now + interval;
            self.asked.clear();
            return Some((desk, Wanted::All));
        }
        let numbers = self.asked.iter().filter(|(_, due)| **due <= now).map(|(number, _)| *number).collect();
        self.asked.retain(|_, due| *due > now);
        Some((desk, Wanted::Some(numbers)))
    }

    /// Takes the reviews back.
    pub fn ended(&mut self, desk: Box<Desk>) {
        self.desk = Some(desk);
    }

    /// Repeats a look that failed after a while.
    pub fn repeat(&mut self, wanted: Wanted, at: Instant) {
        match wanted {
            Wanted::All => self.due = self.due.min(at),
            Wanted::Some(numbers) => numbers.into_iter().for_each(|number| self.ask(number, at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::configuration::Configuration;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn looks_come_a_second_apart_and_webhooks_are_gathered() {
        let text = "data = 'd'\n[[source]]\nname = 's'\ngit = { url = 'file:///g' }\n\
                    [source.pull-requests]\nforge = 'github'\nrepository = 'a/b'\ntoken-file = 't'\n";
        let read = Configuration::parse(text, Path::new("c.toml"), Path::new("/")).unwrap();
        let desk = Desk::new(&read.sources[0], Path::new("/d")).unwrap();
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let mut state = ReviewState::new(desk, begun);
        let (desk, wanted) = state.begin(begun, HOUR).unwrap();
        assert_eq!(wanted, Wanted::All);
        assert!(state.due().is_none() && state.begin(at(5_000), HOUR).is_none(), "one runs");
        state.ask(7, at(10));
        state.ask(8, at(20));
        state.ask(7, at(30));
        state.ended(desk);
        assert!(state.begin(at(900), HOUR).is_none(), "not within a second");
        let (desk, wanted) = state.begin(at(1_000), HOUR).unwrap();
        assert_eq!(wanted, Wanted::Some(BTreeSet::from([7, 8])));
        state.ended(desk);
        assert!(state.begin(at(9_000), HOUR).is_none(), "nothing was asked since");
        state.repeat(wanted, at(20_000));
        assert!(state.begin(at(19_000), HOUR).is_none());
        let (desk, _) = state.begin(at(20_000), HOUR).unwrap();
        state.ended(desk);
        state.rest(at(90_000));
        state.ask_all(at(30_000));
        state.ask(7, at(30_000));
        assert!(state.begin(at(89_000), HOUR).is_none(), "the forge asks to wait");
        state.rest(at(40_000));
        let stop = state.stop(&CancellationToken::new());
        let (desk, wanted) = state.begin(at(90_000), HOUR).unwrap();
        assert_eq!(wanted, Wanted::All);
        state.give_up();
        assert!(stop.is_cancelled());
        state.ended(desk);
        assert!(!state.stop(&CancellationToken::new()).is_cancelled(), "the next look is another one");
    }
}
