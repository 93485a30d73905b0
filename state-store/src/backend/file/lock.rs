//! A lock with which one writer at a time, over all processes, may replace or remove a key.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::directory;
use crate::backend::{Error, Key, Result};
use crate::digest::Digest;

/// The lock is held for one rename. A longer hold means that the process was paused in the rename.
const PATIENCE: Duration = Duration::from_secs(10);

/// Held until it is dropped, or its process ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of a key. Keys share 256 lock files, which are never removed.
    pub(super) fn acquire(own: &Path, key: &Key) -> Result<Self> {
        let digest = Digest::of(key.as_str().as_bytes()).to_hex();
        let path = own.join("locks").join(digest.get(..2).unwrap_or_default());
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                directory::make_parents(&path).and_then(|()| open())
            }
            result => result,
        };
        let file = file.map_err(|error| Error::from_io(key, error))?;
        let (begin, mut pause) = (Instant::now(), Duration::from_micros(50));
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => std::thread::sleep(pause),
                Err(TryLockError::WouldBlock) => {
                    let text = format!("another process holds the lock {}", path.display());
                    let source = Arc::new(io::Error::new(io::ErrorKind::TimedOut, text));
                    return Err(Error::Transient { key: key.to_string(), source });
                }
                Err(TryLockError::Error(error)) => return Err(Error::from_io(key, error)),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}
