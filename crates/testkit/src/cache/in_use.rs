//! Components of which many versions come and go, such as copies of a program that is built again and again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;

/// How long a version is kept after its last use, so that two builds that test in turn do not make theirs each time.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// A version of a component, as [`installed`](super::installed) makes it. It stays while a value of it lives in any process.
#[derive(Debug)]
pub struct InUse {
    folder: PathBuf,
    /// Locked, shared, while the version is used.
    _used: File,
}

impl InUse {
    /// Takes a version of a component, which `make` fills if it does not exist. Removes the versions that are not in use and
    /// were not used lately.
    ///
    /// # Errors
    /// As for [`installed`](super::installed), and when an old version cannot be removed.
    pub fn take(name: &str, version: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        super::check_available(name)?;
        Self::take_unchecked(name, version, make)
    }

    fn take_unchecked(name: &str, version: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        // One process at a time takes or removes versions, so that no lock file is removed between its opening
        // and its locking.
        let _alone = super::lock(name)?;
        let folder = super::filled(name, version, make)?;
        let used = File::create(marker(name, version)?)?;
        used.lock_shared()?;
        used.set_modified(SystemTime::now())?;
        remove_older(name, KEPT)?;
        Ok(Self { folder, _used: used })
    }

    /// The folder of the version.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Removes the versions of a component that are not in use and were not used for an hour, and gives their folders. A version
/// without a mark of its use gets one now, and is kept for an hour from then on.
///
/// # Errors
/// When the cache folder cannot be read, or a version cannot be removed.
pub fn remove_unused(name: &str) -> Result<Vec<PathBuf>> {
    let _alone = super::lock(name)?;
    remove_older(name, KEPT)
}

/// The file that users of a version lock, and whose time is that of the last use.
fn marker(name: &str, version: &str) -> Result<PathBuf> {
    Ok(super::folder()?.join(format!(".{name}-{version}.used")))
}

/// Removes the versions that are not in use, and whose last use is longer ago than `kept`. The caller holds the lock of the
/// component.
fn remove_older(name: &str, kept: Duration) -> Result<Vec<PathBuf>> {
    let cache = super::folder()?;
    let mut removed = Vec::new();
    for entry in fs::read_dir(&cache)?.flatten() {
        let folder = entry.file_name().to_string_lossy().into_owned();
        let Some(version) = folder.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')) else {
            continue;
        };
        let marker = marker(name, version)?;
        let used = File::options().create(true).truncate(false).write(true).open(&marker)?;
        let last = used.metadata()?.modified()?;
        if last.elapsed().is_ok_and(|age| age < kept) || used.try_lock().is_err() {
            continue;
        }
        fs::remove_dir_all(entry.path())?;
        fs::remove_file(&marker)?;
        let _ = fs::remove_file(cache.join(format!(".{folder}.lock")));
        removed.push(entry.path());
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_stays_while_it_is_used_and_for_a_while_after_that() {
        let name = format!("test-of-use-{}", std::process::id());
        let take = |version: &str| {
            InUse::take_unchecked(&name, version, |folder| Ok(fs::write(folder.join("file"), "")?)).unwrap()
        };
        let aged = |version: &str| {
            let file = File::options().write(true).open(marker(&name, version).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - KEPT * 2).unwrap();
        };
        let (first, second) = (take("1"), take("2"));
        aged("1");
        assert!(
            remove_unused(&name).unwrap().is_empty(),
            "the first is used, the second has just been taken"
        );

        let (old, new) = (first.folder().to_owned(), second.folder().to_owned());
        drop((first, second));
        assert_eq!(remove_unused(&name).unwrap(), [old.as_path()]);
        assert!(!old.exists() && new.join("file").is_file());

        // Whoever takes a version removes the others.
        aged("2");
        let third = take("3");
        assert!(!new.exists() && third.folder().join("file").is_file());

        // A version of which no use is known is kept as if it had been used now.
        drop(third);
        fs::remove_file(marker(&name, "3").unwrap()).unwrap();
        assert!(remove_unused(&name).unwrap().is_empty());
        aged("3");
        assert_eq!(remove_unused(&name).unwrap().len(), 1);
        fs::remove_file(super::super::folder().unwrap().join(format!(".{name}.lock"))).unwrap();
    }
}
