//! The owner of this node: one cluster, until its last object is deleted.

use serde::{Deserialize, Serialize};
use slipway_resource::{ErrorClass, Ownership, ProviderError};

use crate::disk::Disk;
use crate::error::{conflict, permanent};
use crate::folders;
use crate::ledger::Ledger;

/// The file that names the owner.
pub(crate) const FILE: &str = "/var/lib/slipway/owner";

/// The cluster that a node belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The cluster's unique id.
    pub uid: String,
    /// The cluster's name.
    pub cluster: String,
}

/// The owner of the node; `None` when it has none.
pub(crate) fn read(disk: &Disk) -> Result<Option<Owner>, ProviderError> {
    let Some(text) = disk.read(FILE)? else { return Ok(None) };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| permanent(format!("{FILE} does not say whose node this is: {error}")))
}

/// Claims the node for a cluster, unless it belongs to one.
///
/// # Errors
/// `conflict` when it belongs to another cluster.
pub(crate) fn claim(disk: &Disk, ownership: &Ownership) -> Result<(), ProviderError> {
    let owner = Owner { uid: ownership.uid.as_str().to_owned(), cluster: ownership.cluster.clone() };
    // Twice, because the file may be removed between the two reads.
    for _ in 0..2 {
        if let Some(known) = read(disk)? {
            return if known.uid == owner.uid { Ok(()) } else { Err(refusal(&known, &owner)) };
        }
        let text = serde_json::to_vec(&owner)
            .map_err(|error| permanent(format!("the owner cannot be written down: {error}")))?;
        if disk.write_new(FILE, &text, 0o600)? {
            return Ok(());
        }
    }
    Err(ProviderError::new(ErrorClass::Transient, "another process is claiming the node"))
}

/// Refuses a cluster that the node does not belong to, without claiming it.
pub(crate) fn check(disk: &Disk, ownership: &Ownership) -> Result<(), ProviderError> {
    match read(disk)? {
        Some(known) if known.uid != ownership.uid.as_str() => {
            let asking = Owner { uid: ownership.uid.as_str().to_owned(), cluster: ownership.cluster.clone() };
            Err(refusal(&known, &asking))
        }
        _ => Ok(()),
    }
}

/// Releases the node when no object of the cluster is left, and removes the empty folders that were made for
/// it.
pub(crate) fn release(disk: &Disk, ledger: &Ledger) -> Result<(), ProviderError> {
    if ledger.is_empty()? {
        folders::remove_empty(disk)?;
        disk.remove(FILE)?;
    }
    Ok(())
}

fn refusal(known: &Owner, asking: &Owner) -> ProviderError {
    let text = format!(
        "this node belongs to cluster {} ({}), not to {} ({})",
        known.cluster, known.uid, asking.cluster, asking.uid
    );
    conflict(text).with_hint(format!(
        "use the state of {}; only to give that node up: `slipway node reset` on it removes it from its cluster for good, with the data of its etcd",
        known.cluster
    ))
}
