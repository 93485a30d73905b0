//! Objects as files below a directory, safe for many processes at once.
//!
//! - A create writes and syncs a temporary file and links it to its name, which fails when the name is taken.
//! - An update does the same and renames it over the name, while it holds a lock, if the tag is still the expected one.
//! - The directory is synced before either returns, so that what was acknowledged survives a loss of power.
//!
//! Locks and temporary files are in `.slipway/` below the directory: no key starts with a dot. Reading needs no lock and
//! writes nothing, not even a directory; a writer makes what it needs. The directory may be on a network file system if
//! that has locks, atomic renames and hard links.

mod directory;
mod lock;
mod temporary;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use slipway_limits::{Exceeded, file, size};

use super::envelope::Envelope;
use super::{Backend, Error, Key, Locality, Prefix, Result, Tag};
use lock::Lock;
use temporary::Temporary;

/// The folder of the backend's own files, below its directory.
const OWN: &str = ".slipway";

/// Keeps objects as files below a directory.
#[derive(Clone, Debug)]
pub struct FileBackend {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    is_tidy: AtomicBool,
}

impl FileBackend {
    /// The objects below `directory`, which need not exist before the first write.
    pub fn open(directory: impl Into<PathBuf>) -> Self {
        let root = directory.into();
        Self { inner: Arc::new(Inner { root, is_tidy: AtomicBool::new(false) }) }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.inner.root
    }

    /// Runs what blocks on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || work(&inner)).await {
            Ok(result) => result,
            Err(error) => Err(Error::OutcomeUnknown { key: name.to_owned(), source: Arc::new(error) }),
        }
    }
}

impl Inner {
    fn path(&self, key: &Key) -> PathBuf {
        self.root.join(key.as_str())
    }

    fn create(&self, key: &Key, bytes: &[u8]) -> Result<Tag> {
        let (path, taken) = (self.path(key), || Error::AlreadyExists { key: key.to_string() });
        if fs::symlink_metadata(&path).is_ok() {
            return Err(taken());
        }
        let (temporary, tag) = self.prepare(key, bytes)?;
        let linked = match temporary.link_to(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => directory::make_parents(&path)
                .map_err(|error| Error::from_io(key, error))
                .and_then(|()| temporary.link_to(&path).map_err(|error| transient(key, error))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken()),
            result => result.map_err(|error| Error::from_io(key, error)),
        };
        match linked {
            // The name may have been taken between the two attempts.
            Err(Error::Transient { .. }) if path.exists() => Err(taken()),
            Err(error) => Err(error),
            Ok(()) => {
                drop(temporary);
                sync(key, &path)?;
                Ok(tag)
            }
        }
    }

    fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        match file::read(&self.path(key), size::STATE_OBJECT) {
            Ok(bytes) => {
                let envelope = Envelope::open(Bytes::from(bytes));
                let (tag, body) = envelope.map_err(|reason| Error::corrupt(key, reason))?;
                Ok(Some((body, tag)))
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(match Exceeded::of(&error) {
                Some(exceeded) => Error::corrupt(key, exceeded.to_string()),
                None => Error::from_io(key, error),
            }),
        }
    }

    fn update(&self, key: &Key, bytes: &[u8], expected: &Tag) -> Result<Tag> {
        let path = self.path(key);
        // Looking first spares the writing; what counts is the look under the lock.
        self.expect(key, &path, expected)?;
        let (temporary, tag) = self.prepare(key, bytes)?;
        let lock = Lock::acquire(&self.root.join(OWN), key)?;
        self.expect(key, &path, expected)?;
        temporary.rename_to(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => transient(key, error),
            _ => Error::from_io(key, error),
        })?;
        drop(lock);
        sync(key, &path)?;
        Ok(tag)
    }

    fn expect(&self, key: &Key, path: &Path, expected: &Tag) -> Result<()> {
        match Envelope::read_tag(path) {
            Ok(Ok(tag)) if tag == *expected => Ok(()),
            Ok(Ok(_)) => Err(Error::Conflict { key: key.to_string() }),
            Ok(Err(reason)) => Err(Error::corrupt(key, reason)),
            Err(error) if is_absent(&error) => Err(Error::NotFound { key: key.to_string() }),
            Err(error) => Err(Error::from_io(key, error)),
        }
    }

    fn delete(&self, key: &Key) -> Result<()> {
        let path = self.path(key);
        if fs::symlink_metadata(&path).is_err_and(|error| is_absent(&error)) {
            return Ok(());
        }
        let _lock = Lock::acquire(&self.root.join(OWN), key)?;
        match fs::remove_file(&path) {
            Ok(()) => sync(key, &path),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(Error::from_io(key, error)),
        }
    }

    /// Writes the bytes to a synced temporary file, with a tag that no other write has.
    fn prepare(&self, key: &Key, bytes: &[u8]) -> Result<(Temporary, Tag)> {
        let own = self.root.join(OWN);
        if !self.is_tidy.swap(true, Ordering::Relaxed) {
            temporary::tidy(&own);
        }
        let name = random(key)?;
        let (tag, header) = Envelope::seal(&name, bytes);
        let temporary = Temporary::write(&own, &name, &[header.as_bytes(), bytes])
            .map_err(|error| Error::from_io(key, error))?;
        Ok((temporary, tag))
    }
}

#[async_trait]
impl Backend for FileBackend {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        let owned = key.clone();
        self.blocking(key.as_str(), move |inner| inner.create(&owned, &bytes)).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        let owned = key.clone();
        self.blocking(key.as_str(), move |inner| inner.get(&owned)).await
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        let (owned, tag) = (key.clone(), tag.clone());
        self.blocking(key.as_str(), move |inner| inner.update(&owned, &bytes, &tag)).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        let owned = prefix.clone();
        self.blocking(prefix.as_str(), move |inner| directory::list(&inner.root, &owned)).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        let owned = prefix.clone();
        self.blocking(prefix.as_str(), move |inner| directory::list_children(&inner.root, &owned)).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        let owned = key.clone();
        self.blocking(key.as_str(), move |inner| inner.delete(&owned)).await
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// No such file, or a part of its path is not even a directory.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The written file is visible; until this sync it may not survive a loss of power.
fn sync(key: &Key, path: &Path) -> Result<()> {
    let synced = path.parent().map_or(Ok(()), directory::sync);
    synced.map_err(|error| Error::OutcomeUnknown { key: key.to_string(), source: Arc::new(error) })
}

fn transient(key: &Key, error: io::Error) -> Error {
    Error::Transient { key: key.to_string(), source: Arc::new(error) }
}

fn random(key: &Key) -> Result<String> {
    crate::random::hex().map_err(|error| Error::Transient { key: key.to_string(), source: Arc::new(error) })
}
