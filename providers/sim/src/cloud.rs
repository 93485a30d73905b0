//! The objects of the simulated cloud, in a log of events that several processes share.

mod change;
mod entity;
pub(crate) mod log;
mod machine;
pub(crate) mod pod;
pub(crate) mod tail;
pub(crate) mod traffic;
pub(crate) mod view;
mod world;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use slipway_resource::{ErrorClass, ProviderError};

pub(crate) use change::Change;
pub(crate) use entity::{Journaled, PoolState, Stale};
pub use entity::{Machine, Object, Pod, Vacancy};
pub use log::StorageError;
pub(crate) use machine::{Launch, boot_ms, size_of, template_digest, text_of};
pub use traffic::{Balancer, BalancerPort, PodRoute};
pub(crate) use world::World;

use crate::clock::Clock;
use log::Log;

/// The cloud in a directory. Cloning is not needed: share it.
#[derive(Debug)]
pub(crate) struct Cloud {
    account: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    log: Log,
    world: World,
}

impl Cloud {
    /// The cloud in this directory. Nothing is written, and nothing need be there.
    pub(crate) fn open(directory: &Path, account: &str) -> Self {
        Self {
            account: account.to_owned(),
            inner: Mutex::new(Inner { log: Log::new(directory), world: World::default() }),
        }
    }

    /// Looks at the cloud as it is now, with what other processes have changed.
    pub(crate) fn read<T>(
        &self,
        clock: &Clock,
        look: impl FnOnce(&World, u64) -> T,
    ) -> Result<T, ProviderError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { log, world } = &mut *inner;
        log.catch_up(world).map_err(unreadable)?;
        clock.advance_to(world.moment);
        Ok(look(world, clock.now()))
    }

    /// Changes the cloud: `change` sees what every process has done before, and what it does is in the log before
    /// this returns. When it fails nothing is kept.
    pub(crate) fn write<T>(
        &self,
        clock: &Clock,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { log, world } = &mut *inner;
        let guard = log.lock().map_err(failed)?;
        log.catch_up(world).map_err(failed)?;
        clock.advance_to(world.moment);
        let mut draft = Change::new(world, clock.now(), &self.account);
        match change(&mut draft) {
            Ok(result) => {
                let line = draft.into_line();
                if let Some(line) = line {
                    let appended = log.append(&line);
                    if appended.is_err() {
                        log.forget(world);
                    }
                    appended.map_err(failed)?;
                    log.compact_if_due(world).map_err(failed)?;
                }
                drop(guard);
                Ok(result)
            }
            Err(error) => {
                if draft.into_line().is_some() {
                    log.forget(world);
                }
                drop(guard);
                Err(error)
            }
        }
    }
}

fn failed(error: StorageError) -> ProviderError {
    let class = match error {
        StorageError::Damaged { .. } => ErrorClass::Permanent,
        StorageError::File { .. } => ErrorClass::OutcomeUnknown,
    };
    of_class(class, &error)
}

/// The failure of a look at the cloud: nothing was changed.
fn unreadable(error: StorageError) -> ProviderError {
    of_class(ErrorClass::Permanent, &error)
}

fn of_class(class: ErrorClass, error: &StorageError) -> ProviderError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    ProviderError::new(class, format!("{error}{source}"))
}
