//! Directories: made durably, synced, walked.

use std::fs::{self, DirEntry, File};
use std::io;
use std::path::Path;

use super::is_absent;
use crate::backend::{Error, Key, Prefix, Result};

/// Makes the names in a directory survive a loss of power.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

/// Makes the directories that lead to `path`, durably.
pub(super) fn make_parents(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if parent.as_os_str().is_empty() || parent.is_dir() {
        return Ok(());
    }
    make_parents(parent)?;
    match fs::create_dir(parent) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    parent.parent().map_or(Ok(()), sync)
}

/// All keys below a prefix, sorted.
pub(super) fn list(root: &Path, prefix: &Prefix) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    let mut open = vec![prefix.as_str().to_owned()];
    while let Some(below) = open.pop() {
        for entry in entries(root, &below)? {
            let Some(name) = child(&below, &entry) else {
                continue;
            };
            if is_directory(&below, &entry)? {
                open.push(name);
            } else {
                keys.push(Key::new(name)?);
            }
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

/// The directories directly below a prefix which have any key below them, sorted.
pub(super) fn list_children(root: &Path, prefix: &Prefix) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in entries(root, prefix.as_str())? {
        if let Some(name) = child(prefix.as_str(), &entry)
            && is_directory(prefix.as_str(), &entry)?
            && has_any(root, &name)?
        {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether there is a key below a directory; a writer that was killed may leave one without any.
fn has_any(root: &Path, directory: &str) -> Result<bool> {
    let mut open = vec![directory.to_owned()];
    while let Some(below) = open.pop() {
        for entry in entries(root, &below)? {
            let Some(name) = child(&below, &entry) else {
                continue;
            };
            if !is_directory(&below, &entry)? {
                return Ok(true);
            }
            open.push(name);
        }
    }
    Ok(false)
}

/// The entries of a directory; none when it is not there.
fn entries(root: &Path, below: &str) -> Result<Vec<DirEntry>> {
    let read = fs::read_dir(root.join(below)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    match read {
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        result => result.map_err(|error| Error::from_io(format_args!("{below}/"), error)),
    }
}

/// The key of an entry, when its name can be part of one.
fn child(below: &str, entry: &DirEntry) -> Option<String> {
    let name = entry.file_name().into_string().ok()?;
    crate::backend::key::check_segment(&name)
        .is_none()
        .then(|| if below.is_empty() { name } else { format!("{below}/{name}") })
}

fn is_directory(below: &str, entry: &DirEntry) -> Result<bool> {
    let kind = entry.file_type().map_err(|error| Error::from_io(format_args!("{below}/"), error))?;
    Ok(kind.is_dir())
}
