//! Changes of self-hosted components exclude each other: the agent changes them, and the recovery looks after them.

use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use slipway_resource::ProviderError;

use super::record::FOLDER;
use crate::disk::Disk;
use crate::error::{of_path, permanent};
use crate::kind::Work;

const PAUSE: Duration = Duration::from_millis(200);

/// The right to change self-hosted components. It ends with the value, and with the process.
pub(crate) struct Lock {
    /// The folder of the manifests, which is locked.
    _file: File,
}

impl Lock {
    /// Takes the lock; `None` while another process has it.
    ///
    /// # Errors
    /// When the folder of the manifests cannot be opened.
    pub(crate) fn try_take(disk: &Disk) -> Result<Option<Self>, ProviderError> {
        let path = disk.folder(FOLDER)?;
        let file = File::open(&path).map_err(|error| of_path(&path, "open", &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(permanent(format!("{}: cannot be locked: {error}", path.display()))),
        }
    }

    /// Waits for the lock, as long as the step may take.
    ///
    /// # Errors
    /// When the time for the step is over, or it was cancelled.
    pub(crate) async fn take(work: &Work) -> Result<Self, ProviderError> {
        loop {
            if let Some(lock) = Self::try_take(&work.host().disk)? {
                return Ok(lock);
            }
            work.pause(PAUSE).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn one_at_a_time_has_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(Root::new(folder.path()), None);
        let lock = Lock::try_take(&disk).unwrap();
        assert!(lock.is_some());
        assert!(Lock::try_take(&disk).unwrap().is_none());
        drop(lock);
        assert!(Lock::try_take(&disk).unwrap().is_some());
    }
}
