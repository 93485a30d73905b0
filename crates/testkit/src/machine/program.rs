//! A copy of the program under test, for machines.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use aws_lc_rs::digest::{SHA256, digest};

use crate::cache;

/// How long a copy is kept after its last use, so that two builds that test in turn do not copy each time.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// A copy of a program, called `slipway`, without debug information: a tenth of the size. There is one for
/// each version of the program. It does not change while a value of it lives in any process, whatever other
/// processes build.
#[derive(Debug)]
pub struct Stripped {
    folder: PathBuf,
    /// Locked, shared, while the copy is used.
    _used: File,
}

impl Stripped {
    /// Takes the copy of a program, after making it if need be. Removes copies that are not in use and were
    /// not used lately.
    ///
    /// # Errors
    /// When the program cannot be read, or there is no `strip`.
    pub fn of(program: &Path) -> Result<Self> {
        let program = fs::canonicalize(program).with_context(|| program.display().to_string())?;
        let state = fs::metadata(&program)?;
        let path = program.as_os_str().as_encoded_bytes();
        let state = format!(" {} {} {}", state.size(), state.mtime(), state.mtime_nsec());
        let version = hex(&[path, state.as_bytes()].concat());
        // One process at a time takes or removes copies, so that no lock file is removed between its opening
        // and its locking.
        let _alone = cache::lock("stripped")?;
        let folder = cache::installed("stripped", &version, |folder| {
            let copy = folder.join("slipway");
            cache::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(&copy).arg(&program))?;
            Ok(fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?)
        })?;
        let used = File::create(used(&version)?)?;
        used.lock_shared()?;
        used.set_modified(SystemTime::now())?;
        forget_unused(KEPT)?;
        Ok(Self { folder, _used: used })
    }

    /// The folder, which contains only the copy.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The copy.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join("slipway")
    }
}

/// The file that users of a copy lock, and whose time is that of the last use.
fn used(version: &str) -> Result<PathBuf> {
    Ok(cache::folder()?.join(format!(".stripped-{version}.used")))
}

/// Removes copies that are not in use, and whose last use is longer ago than `kept`.
fn forget_unused(kept: Duration) -> Result<()> {
    let cache = cache::folder()?;
    for entry in fs::read_dir(&cache)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(version) = name.strip_prefix("stripped-") else { continue };
        let used = used(version)?;
        let file = File::options().create(true).truncate(false).write(true).open(&used)?;
        let taken = file.metadata()?.modified()?;
        if taken.elapsed().is_ok_and(|age| age < kept) || file.try_lock().is_err() {
            continue;
        }
        fs::remove_dir_all(entry.path())?;
        fs::remove_file(&used)?;
        let _ = fs::remove_file(cache.join(format!(".{name}.lock")));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_copy_stays_while_somebody_uses_it_and_a_while_longer() {
        let scratch = Scratch::new("program").unwrap();
        let program = scratch.path().join("program");
        let first = {
            fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            Stripped::of(&program).unwrap()
        };
        // The program is built again, and a copy of it is taken.
        fs::remove_file(&program).unwrap();
        fs::copy("/bin/true", &program).unwrap();
        let second = Stripped::of(&program).unwrap();
        assert_ne!(first.path(), second.path());
        let version = |copy: &Stripped| {
            let name = copy.folder().file_name().unwrap().to_string_lossy().into_owned();
            name.trim_start_matches("stripped-").to_owned()
        };
        let aged = |copy: &Stripped| {
            let file = File::options().write(true).open(used(&version(copy)).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - KEPT * 2).unwrap();
        };
        aged(&first);
        let forget = || {
            let _alone = cache::lock("stripped").unwrap();
            forget_unused(KEPT).unwrap();
        };
        forget();
        assert!(first.path().is_file(), "it is used");

        let (path, lately) = (first.path(), second.path());
        drop((first, second));
        forget();
        assert!(!path.exists(), "nobody has used it for long");
        assert!(lately.is_file(), "somebody has just taken it");

        let last = Stripped::of(&program).unwrap();
        aged(&last);
        drop(last);
        forget();
        assert!(!lately.exists());
    }
}
