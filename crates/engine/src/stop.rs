//! The signal that stops a run.

use tokio::sync::watch;

/// How far a run continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// To its end.
    #[default]
    No,
    /// Steps in progress are finished and recorded; no new step begins.
    Finish,
    /// At once: steps in progress are abandoned, and the next run resolves them.
    AtOnce,
}

/// Sends the signal to stop a run; each call raises it one level.
#[derive(Clone, Debug)]
pub struct StopSignal(watch::Sender<Stop>);

impl Default for StopSignal {
    fn default() -> Self {
        Self(watch::Sender::new(Stop::No))
    }
}

impl StopSignal {
    /// One signal more: first finish, then at once. Returns the level that holds now.
    pub fn raise(&self) -> Stop {
        self.0.send_modify(|stop| *stop = if *stop == Stop::No { Stop::Finish } else { Stop::AtOnce });
        *self.0.borrow()
    }

    /// The level that holds now.
    #[must_use]
    pub fn level(&self) -> Stop {
        *self.0.borrow()
    }

    /// Waits until a level holds, or a higher one.
    pub async fn reached(&self, level: Stop) {
        // The sender is this one: it lives as long as who waits.
        let _ = self.watch().wait_for(|stop| *stop >= level).await;
    }

    /// Waits until it was raised.
    pub(crate) async fn raised(&self) {
        // The sender is this one: it lives as long as who waits.
        let _ = self.watch().wait_for(|stop| *stop != Stop::No).await;
    }

    /// Follows the level.
    pub(crate) fn watch(&self) -> watch::Receiver<Stop> {
        self.0.subscribe()
    }
}
