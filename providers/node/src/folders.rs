//! Folders that were made for a file: they are removed when the node is released, if they are empty then.
//!
//! Each such folder has a small record with its path, written before the folder is made. A folder that
//! existed before has no record, and stays.

use std::path::Path;

use slipway_resource::{Digest, ProviderError};

use crate::disk::{Access, Disk};
use crate::purge;
use crate::root::Root;

/// Where their paths are written down.
const FOLDER: &str = "/var/lib/slipway/folders";

/// The folder of Slipway itself, which has no objects of a cluster.
const OWN: &str = "/var/lib/slipway";

/// Records that a folder, named by its path on the node, is about to be made.
pub(crate) fn remember(disk: &Disk, path: &Path) -> Result<(), ProviderError> {
    // Slipway's own folder and those above it, `/var` and `/var/lib`, do not belong to a cluster.
    if path.starts_with(OWN) || Path::new(OWN).starts_with(path) {
        return Ok(());
    }
    let text = path.to_string_lossy();
    disk.write(&record(&text), text.as_bytes(), Access::mode(0o600))
}

/// Removes the recorded folders that are empty, inner folders first, and deletes all records.
pub(crate) fn remove_empty(disk: &Disk) -> Result<(), ProviderError> {
    let mut paths = Vec::new();
    for name in disk.list(FOLDER)? {
        paths.extend(disk.read_text(&format!("{FOLDER}/{name}"))?);
    }
    // In this order, a folder comes before its contents.
    paths.sort();
    for path in paths.iter().rev() {
        if disk.status(path)?.is_none_or(|status| status.is_directory()) {
            purge::if_empty(disk, path)?;
        }
        disk.remove(&record(path))?;
    }
    purge::if_empty(disk, FOLDER).map(drop)
}

/// The same for a machine without objects, whose files are below a root. Its ledger may still have records of
/// objects that were gone before their deletion.
///
/// # Errors
/// When a folder or a record cannot be removed.
pub fn remove_empty_folders(root: &Path) -> Result<(), ProviderError> {
    remove_empty(&Disk::new(Root::new(root), None))
}

fn record(path: &str) -> String {
    format!("{FOLDER}/{}", Digest::of_bytes(path.as_bytes()).short())
}
