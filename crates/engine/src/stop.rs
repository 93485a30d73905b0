//! How a run is told to stop.

use tokio::sync::watch;

/// How far a run shall go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// To its end.
    #[default]
    No,
    /// What is under way is finished and recorded, nothing new begins.
    Finish,
    /// At once: what is under way is left, and resolved by the next run.
    AtOnce,
}

/// Tells a run to stop; each signal goes one level further.
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
