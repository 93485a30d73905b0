//! Folders that were made on the way to a file: they are removed when the node is given back, if nothing is in them then.
//!
//! Each has a small file with its path, written before the folder is made. A folder that was there before has none, and
//! stays.

use std::path::Path;

use slipway_resource::{Digest, ProviderError};

use crate::disk::{Access, Disk};
use crate::purge;
use crate::root::Root;

/// Where their paths are written down.
const FOLDER: &str = "/var/lib/slipway/folders";

/// What Slipway keeps for itself: it has no objects of a cluster.
const OWN: &str = "/var/lib/slipway";

/// Writes down that a folder, named by its path on the node, is about to be made.
pub(crate) fn remember(disk: &Disk, path: &Path) -> Result<(), ProviderError> {
    // Those on the way to this record itself, too: `/var` and `/var/lib` are not of a cluster.
    if path.starts_with(OWN) || Path::new(OWN).starts_with(path) {
        return Ok(());
    }
    let text = path.to_string_lossy();
    disk.write(&record(&text), text.as_bytes(), Access::mode(0o600))
}

/// Removes the folders that were made and are empty, those inside others first, and forgets all of them.
pub(crate) fn remove_empty(disk: &Disk) -> Result<(), ProviderError> {
    let mut paths = Vec::new();
    for name in disk.list(FOLDER)? {
        paths.extend(disk.read_text(&format!("{FOLDER}/{name}"))?);
    }
    // What is inside a folder comes after it in this order.
    paths.sort();
    for path in paths.iter().rev() {
        if disk.status(path)?.is_none_or(|status| status.is_directory()) {
            purge::if_empty(disk, path)?;
        }
        disk.remove(&record(path))?;
    }
    purge::if_empty(disk, FOLDER).map(drop)
}

/// The same for a machine on which nothing is left, whose files are below a root: its ledger may still know objects that were
/// gone before they were deleted.
///
/// # Errors
/// When a folder or a record cannot be removed.
pub fn remove_empty_folders(root: &Path) -> Result<(), ProviderError> {
    remove_empty(&Disk::new(Root::new(root), None))
}

fn record(path: &str) -> String {
    format!("{FOLDER}/{}", Digest::of_bytes(path.as_bytes()).short())
}
