//! Tools and components that tests install, once per version, in the user's cache folder.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

mod in_use;

pub use in_use::{InUse, remove_unused};

/// The cache folder: `$XDG_CACHE_HOME/slipway`, or `~/.cache/slipway`.
///
/// # Errors
/// When neither variable is set.
pub fn folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("slipway"))
}

/// The folder of a component and version, which need not exist.
///
/// # Errors
/// When the cache folder is not known.
pub fn place(name: &str, version: &str) -> Result<PathBuf> {
    Ok(folder()?.join(format!("{name}-{version}")))
}

/// With this variable, components are not available: the quick tier of the tests needs none.
const WITHOUT_COMPONENTS: &str = "SLIPWAY_WITHOUT_COMPONENTS";

/// Fails if components are not available to this run of the tests.
///
/// # Errors
/// When they are not, with the name of the component that the test wanted.
pub fn check_available(component: &str) -> Result<()> {
    if std::env::var_os(WITHOUT_COMPONENTS).is_some() {
        bail!(
            "this test needs {component}, and the quick tier has no components: list the test in `NOT_QUICK` of \
             crates/xtask/src/test.rs"
        );
    }
    Ok(())
}

/// The folder of a component, `<name>-<version>`, which `make` fills if it does not exist.
///
/// One thread of one process fills it; others that need the same component wait for it.
///
/// # Errors
/// When it cannot be made, or components are not available. A folder that exists is complete: it gets its name at the end.
pub fn installed(name: &str, version: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    check_available(name)?;
    filled(name, version, make)
}

fn filled(name: &str, version: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = place(name, version)?;
    if target.is_dir() {
        return Ok(target);
    }
    let _one_at_a_time = lock(&format!("{name}-{version}"))?;
    if target.is_dir() {
        return Ok(target);
    }
    let unfinished = folder()?.join(format!(".{name}-{version}.unfinished"));
    // A killed process may have left an incomplete folder.
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished)?;
    let made = make(&unfinished).with_context(|| format!("{name} {version} cannot be installed"));
    let moved =
        made.and_then(|()| fs::rename(&unfinished, &target).context("it cannot be moved to its place"));
    let _ = fs::remove_dir_all(&unfinished);
    moved.map(|()| target)
}

/// How many bytes the disk of a folder has free for this user.
///
/// # Errors
/// When the folder does not exist or cannot be looked at.
pub fn free_space(folder: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(folder).with_context(|| folder.display().to_string())?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Waits until no other process or thread holds the lock of this name, and holds it while the value lives.
///
/// # Errors
/// When the cache folder cannot be written.
pub fn lock(name: &str) -> Result<File> {
    let folder = folder()?;
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!(".{name}.lock"));
    let file = File::create(&path).with_context(|| format!("{} cannot be made", path.display()))?;
    file.lock().with_context(|| format!("{} cannot be locked", path.display()))?;
    Ok(file)
}

/// Runs a command that installs something.
///
/// # Errors
/// When it cannot be started or fails, with its output.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    if !output.status.success() {
        bail!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_leaves_nothing_behind() {
        let name = format!("test-of-cache-{}", std::process::id());
        let failed = filled(&name, "1", |folder| {
            fs::write(folder.join("half"), "")?;
            bail!("no")
        });
        assert!(format!("{:#}", failed.unwrap_err()).contains("cannot be installed: no"));
        let made = filled(&name, "1", |folder| Ok(fs::write(folder.join("whole"), "")?)).unwrap();
        let again = filled(&name, "1", |_| bail!("it is there already")).unwrap();
        assert_eq!(made, again);
        let files: Vec<_> = fs::read_dir(&made).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["whole"]);
        fs::remove_dir_all(made).unwrap();
        fs::remove_file(folder().unwrap().join(format!(".{name}-1.lock"))).unwrap();
    }

    #[test]
    fn two_that_need_the_same_make_it_once() {
        let name = format!("test-of-lock-{}", std::process::id());
        let count = std::sync::atomic::AtomicU32::new(0);
        let make = || {
            filled(&name, "1", |_| {
                count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(50));
                Ok(())
            })
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(make);
            (make().unwrap(), other.join().unwrap().unwrap())
        });
        assert_eq!(one, other);
        assert_eq!(count.into_inner(), 1);
        fs::remove_dir_all(one).unwrap();
        fs::remove_file(folder().unwrap().join(format!(".{name}-1.lock"))).unwrap();
    }
}
