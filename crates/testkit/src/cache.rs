//! What tests install for themselves, once per version, in the user's cache folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};

/// Where it is kept: `$XDG_CACHE_HOME/slipway`, or `~/.cache/slipway`.
///
/// # Errors
/// When neither variable is set.
pub fn folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("slipway"))
}

/// One installation at a time in a process: two tests that need the same thing share it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The folder `<name>-<version>`, which `make` fills when it is not there.
///
/// # Errors
/// When it cannot be made. A folder that is there is whole: it gets its name when it is complete.
pub fn installed(name: &str, version: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let target = folder()?.join(format!("{name}-{version}"));
    if target.is_dir() {
        return Ok(target);
    }
    let unfinished = folder()?.join(format!(".{name}-{version}.{}", std::process::id()));
    fs::create_dir_all(&unfinished)?;
    let made = make(&unfinished).with_context(|| format!("{name} {version} cannot be installed"));
    // Another process may have been faster: then its folder is as good.
    let moved = made.and_then(|()| match fs::rename(&unfinished, &target) {
        Err(_) if target.is_dir() => Ok(()),
        result => result.context("it cannot be moved to its place"),
    });
    // Go writes what it downloads so that it cannot be removed; nothing of that is in here.
    let _ = fs::remove_dir_all(&unfinished);
    moved.map(|()| target)
}

/// Runs a command that installs something.
///
/// # Errors
/// When it cannot be started or fails; with what it said.
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
        let failed = installed(&name, "1", |folder| {
            fs::write(folder.join("half"), "")?;
            bail!("no")
        });
        assert!(format!("{:#}", failed.unwrap_err()).contains("cannot be installed: no"));
        let made = installed(&name, "1", |folder| Ok(fs::write(folder.join("whole"), "")?)).unwrap();
        let again = installed(&name, "1", |_| bail!("it is there already")).unwrap();
        assert_eq!(made, again);
        let files: Vec<_> = fs::read_dir(&made).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["whole"]);
        fs::remove_dir_all(made).unwrap();
    }
}
