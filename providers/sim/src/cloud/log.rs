//! The log in the file system: one line for each change, shared by processes. A process may be killed at any
//! byte.
//!
//! A writer holds the lock of the file `lock` and reads the lines that others appended. It removes an
//! incomplete last line, which a killed process left, and appends one line in one write. Readers take no
//! lock, and ignore an incomplete line. A log that has grown is replaced, by rename, with one that has only
//! the present contents.
//!
//! The directory may be that of another person, as in a checkout. Only regular files in it are opened, of a bounded size, and
//! for reading alone until something is written.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use slipway_limits::file::open_plain;
use slipway_limits::{Exceeded, size};

use super::world::World;
use crate::clock::Millis;

/// The name of the log.
pub(crate) const EVENTS: &str = "events.jsonl";
/// The successor of the log, while it is written.
pub(crate) const NEXT: &str = "events.jsonl.next";
/// The lock of writers.
pub(crate) const LOCK: &str = "lock";

/// Logs below this size are left alone.
const COMPACT_FROM: u64 = 16 << 20;
/// A log is replaced when it has grown by this factor since it was replaced last.
const COMPACT_FACTOR: u64 = 4;

/// An error of the cloud's files.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A file cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// The failed operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is no event.
    #[error("line at byte {offset} of {} is not an event of the simulated cloud", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the line begins.
        offset: u64,
        /// Why.
        source: serde_json::Error,
    },
}

/// The log of one directory, and the position up to which it was read.
#[derive(Debug)]
pub(crate) struct Log {
    directory: PathBuf,
    path: PathBuf,
    lock: Option<File>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Whether the file is open for writing, too.
    writable: bool,
    inode: u64,
    offset: u64,
    base: u64,
}

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard(File);

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the file would unlock it too; an error here has no one to go to.
        let _unlocked = self.0.unlock();
    }
}

impl Log {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), path: directory.join(EVENTS), lock: None, open: None }
    }

    /// Waits until no other process writes.
    pub(crate) fn lock(&mut self) -> Result<Guard, StorageError> {
        let path = self.directory.join(LOCK);
        let file = match &self.lock {
            Some(file) => file,
            None => {
                std::fs::create_dir_all(&self.directory)
                    .map_err(failed("create the directory", &self.directory))?;
                let file = open_plain(&path, OpenOptions::new().create(true).append(true))
                    .map_err(failed("open", &path))?;
                self.lock.insert(file)
            }
        };
        let held = file.try_clone().map_err(failed("open", &path))?;
        held.lock().map_err(failed("lock", &path))?;
        Ok(Guard(held))
    }

    /// Reads the lines that others have appended.
    pub(crate) fn catch_up(&mut self, world: &mut World) -> Result<(), StorageError> {
        let metadata = match std::fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if self.open.is_some() {
                    self.forget(world);
                }
                return Ok(());
            }
            Err(error) => return Err(failed("read", &self.path)(error)),
        };
        // The old file stays open here, so that its number cannot be taken by the new one.
        let same = self
            .open
            .as_ref()
            .is_some_and(|open| open.inode == metadata.ino() && metadata.len() >= open.offset);
        if !same {
            self.forget(world);
            let file =
                open_plain(&self.path, OpenOptions::new().read(true)).map_err(failed("open", &self.path))?;
            let inode = file.metadata().map_err(failed("read", &self.path))?.ino();
            self.open = Some(Open { file, writable: false, inode, offset: 0, base: metadata.len() });
        } else if self.open.as_ref().is_some_and(|open| metadata.len() == open.offset) {
            return Ok(());
        }
        self.read_tail(world)
    }

    fn read_tail(&mut self, world: &mut World) -> Result<(), StorageError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let path = &self.path;
        let too_large = |limit| failed("read", path)(Exceeded::TooLarge { limit }.into());
        let length = open.file.metadata().map_err(failed("read", path))?.len();
        if length > size::SIMULATED_CLOUD.bytes {
            return Err(too_large(size::SIMULATED_CLOUD));
        }
        open.file.seek(SeekFrom::Start(open.offset)).map_err(failed("read", path))?;
        let mut reader = BufReader::new(&open.file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let longest = size::STATE_OBJECT;
            Read::by_ref(&mut reader)
                .take(longest.bytes.saturating_add(1))
                .read_until(b'\n', &mut line)
                .map_err(failed("read", path))?;
            let Some((b'\n', text)) = line.split_last() else {
                // The end, or a line that another process has not written completely.
                let fits = line.len() as u64 <= longest.bytes;
                return if fits { Ok(()) } else { Err(too_large(longest)) };
            };
            let events = serde_json::from_slice(text).map_err(|source| StorageError::Damaged {
                path: path.clone(),
                offset: open.offset,
                source,
            })?;
            world.take_line(events);
            open.offset += line.len() as u64;
        }
    }

    /// Appends a line. Only under the lock, and after [`Self::catch_up`].
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<(), StorageError> {
        let path = &self.path;
        let open = match &mut self.open {
            Some(open) => {
                if !open.writable {
                    // Nobody replaces the log while this process holds the lock: it is the file that was read.
                    open.file = open_plain(path, OpenOptions::new().read(true).append(true))
                        .map_err(failed("open", path))?;
                    open.writable = true;
                }
                open
            }
            None => {
                let file = open_plain(path, OpenOptions::new().create(true).read(true).append(true))
                    .map_err(failed("create", path))?;
                let inode = file.metadata().map_err(failed("read", path))?.ino();
                self.open.insert(Open { file, writable: true, inode, offset: 0, base: 0 })
            }
        };
        let length = open.file.metadata().map_err(failed("read", path))?.len();
        if length > open.offset {
            open.file.set_len(open.offset).map_err(failed("cut off the torn end of", path))?;
        }
        open.file.write_all(line).map_err(failed("append to", path))?;
        open.offset += line.len() as u64;
        Ok(())
    }

    /// Discards the contents, so that the whole log is read again.
    pub(crate) fn forget(&mut self, world: &mut World) {
        *world = World::default();
        self.open = None;
    }

    /// Replaces the log when it has grown. Only under the lock.
    pub(crate) fn compact_if_due(&mut self, world: &World) -> Result<(), StorageError> {
        let due = self.open.as_ref().is_some_and(|open| {
            open.offset > COMPACT_FROM && open.offset > open.base.saturating_mul(COMPACT_FACTOR)
        });
        if due { self.compact(world) } else { Ok(()) }
    }

    /// Replaces the log with one that has only the present contents. Only under the lock.
    pub(crate) fn compact(&mut self, world: &World) -> Result<(), StorageError> {
        let next = self.directory.join(NEXT);
        let mut bytes = Vec::new();
        for event in world.events() {
            let mut text = Vec::new();
            let _written = serde_json::to_writer(&mut text, &event);
            bytes.extend_from_slice(&line(world.moment, world.serial, &text));
        }
        // A process that was killed may have left it.
        if let Err(error) = std::fs::remove_file(&next)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(failed("remove", &next)(error));
        }
        open_plain(&next, OpenOptions::new().create_new(true).write(true))
            .and_then(|mut file| file.write_all(&bytes))
            .map_err(failed("write", &next))?;
        std::fs::rename(&next, &self.path).map_err(failed("replace", &self.path))?;
        let file = open_plain(&self.path, OpenOptions::new().read(true).append(true))
            .map_err(failed("open", &self.path))?;
        let inode = file.metadata().map_err(failed("read", &self.path))?.ino();
        let length = bytes.len() as u64;
        self.open = Some(Open { file, writable: true, inode, offset: length, base: length });
        Ok(())
    }
}

/// The text of a line of which the events are written already.
pub(super) fn line(at: Millis, serial: u64, events: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(events.len() + 48);
    line.extend_from_slice(format!("{{\"at\":{at},\"serial\":{serial},\"events\":[").as_bytes());
    line.extend_from_slice(events);
    line.extend_from_slice(b"]}\n");
    line
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> StorageError + 'a {
    move |source| StorageError::File { action, path: path.to_owned(), source }
}
