//! The lease from the holder's point of view: a pure state machine that gets the time as an argument.

use std::time::Duration;

/// A lease, as its holder sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// How long the lease is valid after a renewal was sent, less the margin.
    usable: Duration,
    /// The time at which the last successful renewal was sent.
    renewed: Duration,
    /// Another holder took over, with its name if that is known.
    lost: Option<Option<String>>,
    /// The holder released its hold.
    has_ended: bool,
}

/// Why no call may begin under a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Another holder took over, with its name if that is known.
    Lost(Option<String>),
    /// The holder released its hold.
    Ended,
    /// The lease lapsed: another holder may have taken over.
    Lapsed,
}

impl Tenure {
    /// A lease that was claimed by a write sent at `sent`.
    pub fn new(usable: Duration, sent: Duration) -> Self {
        Self { usable, renewed: sent, lost: None, has_ended: false }
    }

    /// Checks that no takeover is known.
    ///
    /// # Errors
    /// [`Invalid::Lost`] when one is.
    pub fn held(&self) -> Result<(), Invalid> {
        self.lost.clone().map_or(Ok(()), |by| Err(Invalid::Lost(by)))
    }

    /// Checks that no takeover is possible.
    ///
    /// # Errors
    /// Why one is possible.
    pub fn valid(&self, now: Duration) -> Result<(), Invalid> {
        self.held()?;
        if self.has_ended {
            return Err(Invalid::Ended);
        }
        if now < self.renewed + self.usable { Ok(()) } else { Err(Invalid::Lapsed) }
    }

    /// A write of the head that was sent at `sent` succeeded. The lease counts from then: a contender may
    /// have read the head at any time since.
    pub fn renew(&mut self, sent: Duration) {
        self.renewed = self.renewed.max(sent);
    }

    /// Ends the lease: no new call begins under it.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Records a takeover. The first reported name stays.
    pub fn lose(&mut self, by: Option<String>) -> Option<String> {
        self.lost.get_or_insert(by).clone()
    }
}
