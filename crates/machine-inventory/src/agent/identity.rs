//! The key of a host, in a file that only its user can read.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use slipway_limits::{file, size};

use super::AgentError;
use crate::keys::PrivateKey;

/// The file of the key in the folder of the agent.
const FILE: &str = "private.key";

/// The key of the host. It is created when there is none.
pub(super) fn load(folder: &Path) -> Result<PrivateKey, AgentError> {
    let path = place(folder);
    let failed = |what: &str| {
        let what = format!("{} cannot be {what}", path.display());
        move |cause| AgentError::System { what, cause }
    };
    let bad = |error: crate::keys::KeyError| AgentError::Key {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    if !path.exists() {
        let text = PrivateKey::generate().map_err(bad)?;
        fs::create_dir_all(folder).map_err(failed("created"))?;
        // A key that was written in part is never found under its name.
        let draft = folder.join(format!(".{FILE}"));
        let mut opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .map_err(failed("created"))?;
        opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()).map_err(failed("written"))?;
        fs::rename(&draft, &path).map_err(failed("written"))?;
    }
    let text = file::read_text(&path, size::KEY).map_err(failed("read"))?;
    PrivateKey::read(&text).map_err(bad)
}

/// Whether the host has a key, and may be registered with it.
pub(super) fn exists(folder: &Path) -> bool {
    place(folder).exists()
}

/// Removes the key: the host registers as a new one.
pub(super) fn forget(folder: &Path) -> Result<(), AgentError> {
    let path = place(folder);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(AgentError::System { what: format!("{} cannot be removed", path.display()), cause: error })
        }
        _ => Ok(()),
    }
}

fn place(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_stays_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("state");
        let public = || load(&folder).unwrap().public().unwrap();
        assert!(!exists(&folder));
        let first = public();
        assert!(exists(&folder));
        assert_eq!(public(), first);
        assert_eq!(fs::metadata(place(&folder)).unwrap().permissions().mode() & 0o777, 0o600);
        forget(&folder).unwrap();
        forget(&folder).unwrap();
        assert_ne!(public(), first);
    }
}
