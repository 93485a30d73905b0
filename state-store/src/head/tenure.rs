//! What a holder knows of its own lease: a pure state machine that is told the time.

use std::time::Duration;

/// A lease, as its holder sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// How long the lease holds after a renewal was sent, less the margin.
    usable: Duration,
    /// When the last renewal that succeeded was sent.
    renewed: Duration,
    /// Somebody took over; who, if it is known.
    lost: Option<Option<String>>,
    /// The holder let go.
    has_ended: bool,
}

/// Why nothing may begin under a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Somebody took over; who, if it is known.
    Lost(Option<String>),
    /// The holder let go.
    Ended,
    /// Somebody may have taken over.
    Lapsed,
}

impl Tenure {
    /// A lease that was claimed by a write sent at `sent`.
    pub fn new(usable: Duration, sent: Duration) -> Self {
        Self { usable, renewed: sent, lost: None, has_ended: false }
    }

    /// Nobody is known to have taken over.
    ///
    /// # Errors
    /// [`Invalid::Lost`] when somebody is.
    pub fn held(&self) -> Result<(), Invalid> {
        self.lost.clone().map_or(Ok(()), |by| Err(Invalid::Lost(by)))
    }

    /// Nobody can have taken over.
    ///
    /// # Errors
    /// Why that is not certain.
    pub fn valid(&self, now: Duration) -> Result<(), Invalid> {
        self.held()?;
        if self.has_ended {
            return Err(Invalid::Ended);
        }
        if now < self.renewed + self.usable { Ok(()) } else { Err(Invalid::Lapsed) }
    }

    /// A write of the head that was sent at `sent` succeeded. It counts from then: a contender can have seen it at any
    /// time since.
    pub fn renew(&mut self, sent: Duration) {
        self.renewed = self.renewed.max(sent);
    }

    /// The holder lets go: nothing new begins under it.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Somebody took over. The first who says so is believed.
    pub fn lose(&mut self, by: Option<String>) -> Option<String> {
        self.lost.get_or_insert(by).clone()
    }
}
