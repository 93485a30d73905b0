//! The lease of a holder, shared by all callers that act under it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::head::protocol;
use crate::head::tenure::{Invalid, Tenure};
use crate::name::ClusterName;

/// A lease from the holder's point of view.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) cluster: ClusterName,
    pub(crate) key: protocol::Hold,
    clock: Arc<dyn Clock>,
    tenure: Mutex<Tenure>,
    /// Held by the caller that renews a lapsed lease.
    pub(crate) renewing: tokio::sync::Mutex<()>,
}

impl Hold {
    /// A lease that is valid for `usable` after a renewal was sent, first after the claim that was sent at
    /// `sent`.
    pub(crate) fn new(
        cluster: ClusterName,
        key: protocol::Hold,
        clock: Arc<dyn Clock>,
        usable: Duration,
        sent: Duration,
    ) -> Arc<Self> {
        let tenure = Mutex::new(Tenure::new(usable, sent));
        Arc::new(Self { cluster, key, clock, tenure, renewing: tokio::sync::Mutex::default() })
    }

    /// Checks that no takeover is known.
    pub(crate) fn held(&self) -> Result<()> {
        self.lock().held().map_err(|invalid| self.reported(invalid))
    }

    /// Checks that no takeover is possible.
    pub(crate) fn valid(&self) -> Result<()> {
        let now = self.clock.elapsed();
        self.lock().valid(now).map_err(|invalid| self.reported(invalid))
    }

    /// A write of the head that was sent at `sent` succeeded.
    pub(crate) fn renew(&self, sent: Duration) {
        self.lock().renew(sent);
    }

    /// Ends the lease: no new call begins under it.
    pub(crate) fn end(&self) {
        self.lock().end();
    }

    /// Records a takeover. The first reported name stays.
    pub(crate) fn lose(&self, by: Option<String>) -> Error {
        let by = self.lock().lose(by);
        self.reported(Invalid::Lost(by))
    }

    fn reported(&self, invalid: Invalid) -> Error {
        let (cluster, epoch) = (self.cluster.clone(), self.key.epoch);
        match invalid {
            Invalid::Lost(by) => Error::Lost { cluster, epoch, by },
            Invalid::Ended => Error::Ended { cluster },
            Invalid::Lapsed => Error::Lapsed { cluster, epoch },
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tenure> {
        self.tenure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
