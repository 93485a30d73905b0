//! Taking folders away with what is in them, without leaving their file system.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use slipway_resource::{ErrorClass, ProviderError};

use crate::disk::Disk;
use crate::error::of_path;
use crate::mounts;

/// Removes a folder with its contents. If it contains a mount, nothing is removed.
pub(crate) fn folder(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = disk.target(path)?;
    let Some(device) = unmounted(disk, &place)? else { return Ok(()) };
    contents(disk, &place, device, &BTreeSet::new())?;
    disk.at("remove folder");
    match fs::remove_dir(&place) {
        Ok(()) => Ok(()),
        // A mount point of its own is empty then, and stays.
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => Ok(()),
        Err(error) => Err(of_path(&place, "remove", &error)),
    }
}

/// Removes what is in a folder, but for these entries of it. The folder stays.
pub(crate) fn but(disk: &Disk, path: &str, kept: &BTreeSet<String>) -> Result<(), ProviderError> {
    let place = disk.target(path)?;
    match unmounted(disk, &place)? {
        Some(device) => contents(disk, &place, device, kept),
        None => Ok(()),
    }
}

/// The device of a folder in which nothing is mounted; none when there is no such folder.
fn unmounted(disk: &Disk, place: &Path) -> Result<Option<u64>, ProviderError> {
    let mounted = mounts::below(place)?;
    if !mounted.is_empty() {
        let blockers: Vec<String> = mounted.iter().map(|mount| mount.display().to_string()).collect();
        let text = format!("{} has file systems mounted in it: {}", place.display(), blockers.join(", "));
        return Err(ProviderError::new(ErrorClass::Dependency { blockers }, text));
    }
    disk.at("purge");
    match fs::symlink_metadata(place) {
        Ok(metadata) => Ok(Some(metadata.dev())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(of_path(place, "look at", &error)),
    }
}

fn contents(disk: &Disk, place: &Path, device: u64, kept: &BTreeSet<String>) -> Result<(), ProviderError> {
    let entries = fs::read_dir(place).map_err(|error| of_path(place, "list", &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| of_path(place, "list", &error))?;
        let path = entry.path();
        if kept.contains(entry.file_name().to_string_lossy().as_ref()) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).map_err(|error| of_path(&path, "look at", &error))?;
        if metadata.is_dir() {
            if metadata.dev() != device {
                let text = format!("{} is on another file system and stays", path.display());
                let blockers = vec![path.display().to_string()];
                return Err(ProviderError::new(ErrorClass::Dependency { blockers }, text));
            }
            contents(disk, &path, device, &BTreeSet::new())?;
            disk.at("remove folder");
            fs::remove_dir(&path).map_err(|error| of_path(&path, "remove", &error))?;
        } else {
            fs::remove_file(&path).map_err(|error| of_path(&path, "remove", &error))?;
        }
    }
    Ok(())
}

/// Removes a folder when it is empty; whether it is gone.
pub(crate) fn if_empty(disk: &Disk, path: &str) -> Result<bool, ProviderError> {
    let place = disk.target(path)?;
    disk.at("remove folder");
    match fs::remove_dir(&place) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound => Ok(true),
            // A mount point stays, also when it is empty.
            std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::ResourceBusy => Ok(false),
            _ => Err(of_path(&place, "remove", &error)),
        },
    }
}
