//! Files that are complete and synced before they get their name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::directory;

/// No write takes so long; a writer that was paused for longer fails, without effect.
const ABANDONED_AFTER: Duration = Duration::from_secs(3_600);

/// A synced file without a name of its own yet; it is removed when it does not get one.
pub(super) struct Temporary {
    path: PathBuf,
    is_renamed: bool,
}

impl Temporary {
    /// Writes and syncs a file.
    pub(super) fn write(own: &Path, name: &str, parts: &[&[u8]]) -> io::Result<Self> {
        let path = own.join("temporary").join(name);
        let create = || File::options().write(true).create_new(true).open(&path);
        let mut file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                directory::make_parents(&path)?;
                create()?
            }
            result => result?,
        };
        let temporary = Self { path, is_renamed: false };
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_all()?;
        Ok(temporary)
    }

    /// Gives it a name that must be free.
    pub(super) fn link_to(&self, path: &Path) -> io::Result<()> {
        fs::hard_link(&self.path, path)
    }

    /// Gives it a name, in place of what had it.
    pub(super) fn rename_to(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            // A remaining file is never read, and a later writer removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what writers that were killed left behind. What cannot be removed does no harm.
pub(super) fn tidy(own: &Path) {
    let Ok(entries) = fs::read_dir(own.join("temporary")) else {
        return;
    };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        if age.is_some_and(|age| age > ABANDONED_AFTER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
