//! What a holder knows of its lease, shared by all who act under it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::head::protocol;
use crate::name::ClusterName;

/// A lease, as its holder sees it.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) cluster: ClusterName,
    pub(crate) key: protocol::Hold,
    clock: Arc<dyn Clock>,
    /// How long the lease holds after a renewal was sent, less the margin.
    usable: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the last renewal that succeeded was sent.
    renewed: Duration,
    /// Somebody took over; who, if it is known.
    lost: Option<Option<String>>,
    /// The holder let go.
    has_ended: bool,
}

impl Hold {
    pub(crate) fn new(
        cluster: ClusterName,
        key: protocol::Hold,
        clock: Arc<dyn Clock>,
        usable: Duration,
        renewed: Duration,
    ) -> Arc<Self> {
        let state = Mutex::new(State { renewed, lost: None, has_ended: false });
        Arc::new(Self { cluster, key, clock, usable, state })
    }

    /// Nobody is known to have taken over.
    pub(crate) fn held(&self) -> Result<()> {
        match &self.lock().lost {
            Some(by) => Err(self.lost_to(by.clone())),
            None => Ok(()),
        }
    }

    /// Nobody can have taken over.
    pub(crate) fn valid(&self) -> Result<()> {
        self.held()?;
        if self.lock().has_ended {
            return Err(Error::Ended { cluster: self.cluster.clone() });
        }
        if self.clock.elapsed() < self.lock().renewed + self.usable {
            Ok(())
        } else {
            Err(Error::Lapsed { cluster: self.cluster.clone(), epoch: self.key.epoch })
        }
    }

    /// A write of the head that was sent at `sent` succeeded.
    pub(crate) fn renew(&self, sent: Duration) {
        let mut state = self.lock();
        state.renewed = state.renewed.max(sent);
    }

    /// The holder lets go: nothing new begins under it.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
    }

    /// Somebody took over. The first who says so is believed.
    pub(crate) fn lose(&self, by: Option<String>) -> Error {
        let by = self.lock().lost.get_or_insert(by).clone();
        self.lost_to(by)
    }

    fn lost_to(&self, by: Option<String>) -> Error {
        Error::Lost { cluster: self.cluster.clone(), epoch: self.key.epoch, by }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
