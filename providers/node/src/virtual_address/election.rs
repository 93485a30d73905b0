//! The rules of the election, without a clock and without effects: callers pass the time.
//!
//! All times are those since the machine was started, including suspended time. Machines never compare their clocks.

use std::time::Duration;

use super::lease::Lease;

/// How long others wait for a holder that does not renew. The Lease stores whole seconds.
pub(super) const LEASE: Duration = Duration::from_secs(2);

/// How long a holder keeps the address after it sent the last request that renewed the Lease.
pub(super) const HOLD: Duration = Duration::from_millis(1_200);

/// How long the holder waits between two renewals.
pub(super) const RENEW: Duration = Duration::from_millis(300);

/// How long one request may take. The address is extended only by answers that come in this time.
pub(super) const ANSWER: Duration = Duration::from_millis(500);

/// The lifetime of the address in the kernel, in seconds.
pub(super) const LIFETIME: u32 = 1;

/// What a candidate does about the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Create it: there is none.
    Create,
    /// Take it: it was given back, or its holder did not renew it in time.
    Take,
    /// Wait at least this long.
    Wait(Duration),
}

/// One candidate.
#[derive(Debug)]
pub(super) struct Election {
    identity: String,
    seen: Option<Seen>,
    /// When this candidate sent the last request that was answered with its Lease.
    renewed: Option<Duration>,
}

/// A version of the Lease, and when it was first seen.
#[derive(Debug)]
struct Seen {
    version: String,
    since: Duration,
}

impl Election {
    /// A candidate with a name that no other process has, not even a later one of the same machine.
    pub(super) const fn new(identity: String) -> Self {
        Self { identity, seen: None, renewed: None }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Decides about the Lease as it was read; `now` is after the answer came.
    pub(super) fn look(&mut self, lease: Option<&Lease>, now: Duration) -> Move {
        let Some(lease) = lease else {
            self.seen = None;
            return Move::Create;
        };
        if self.seen.as_ref().is_none_or(|seen| seen.version != lease.version()) {
            self.seen = Some(Seen { version: lease.version().to_owned(), since: now });
        }
        let since = self.seen.as_ref().map_or(now, |seen| seen.since);
        match lease.holder() {
            None => Move::Take,
            // A request of this process had its effect, and its answer came too late.
            Some(holder) if holder == self.identity => Move::Take,
            Some(_) => {
                let rest = (since + lease.duration().max(LEASE)).saturating_sub(now);
                if rest.is_zero() { Move::Take } else { Move::Wait(rest) }
            }
        }
    }

    /// The Lease was written by a request that was sent at this time.
    pub(super) const fn wrote(&mut self, sent: Duration) {
        self.renewed = Some(sent);
    }

    /// The Lease is not this candidate's any more.
    pub(super) const fn lost(&mut self) {
        self.renewed = None;
    }

    /// Whether this candidate has the Lease, as far as it knows.
    #[cfg(test)]
    pub(super) const fn is_holder(&self) -> bool {
        self.renewed.is_some()
    }

    /// How long the address may stay; none when it must go.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let left = (self.renewed? + HOLD).saturating_sub(now);
        (!left.is_zero()).then_some(left)
    }

    /// Whether the address may be added, or its lifetime extended: the kernel removes it at most 1.3 s later.
    pub(super) fn may_extend(&self, now: Duration) -> bool {
        self.renewed.is_some_and(|sent| now.saturating_sub(sent) <= ANSWER)
    }
}

#[cfg(test)]
mod tests;
