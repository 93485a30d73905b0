//! Names for drafts of files: on the same file system as the file, and where programs do not take drafts for
//! the file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use slipway_resource::ProviderError;

use crate::error::of_path;
use crate::root::Root;

/// The folder of drafts, for files on the same file system.
const FOLDER: &str = "var/lib/slipway/draft";

/// A new name for a draft of a file in `folder`.
///
/// The draft is in `folder` itself, with a dot in front, only when no other folder of Slipway is on its file
/// system. The kubelet would run any other file in its folder of manifests.
pub(crate) fn name(root: &Root, folder: &Path) -> Result<PathBuf, ProviderError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".slipway-{}-{number}", std::process::id());
    let device = |folder: &Path| fs::metadata(folder).ok().map(|metadata| metadata.dev());
    let wanted = device(folder);
    let own = root.path().join(FOLDER);
    if !own.is_dir() {
        fs::create_dir_all(&own).map_err(|error| of_path(&own, "make", &error))?;
    }
    let places = [Some(own.as_path()), folder.parent()];
    let place = places.into_iter().flatten().find(|place| device(place) == wanted);
    Ok(place.unwrap_or(folder).join(name))
}

/// Removes drafts of processes that have ended.
pub(crate) fn clear(root: &Root) {
    let own = root.path().join(FOLDER);
    let Ok(entries) = fs::read_dir(&own) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name.strip_prefix(".slipway-").and_then(|rest| rest.split('-').next());
        let is_left = process.is_some_and(|process| !Path::new("/proc").join(process).exists());
        if is_left && let Err(error) = fs::remove_file(entry.path()) {
            tracing::warn!(path = %entry.path().display(), %error, "a draft stays");
        }
    }
}
