//! A copy of the program under test, for machines.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use aws_lc_rs::digest::{SHA256, digest};

use crate::cache::{self, InUse};

/// The component of the cache whose versions are the copies.
pub const COPIES: &str = "stripped";

/// A copy of a program, called `slipway`, without debug information: a tenth of the size. There is one for
/// each version of the program. It does not change while a value of it lives in any process, whatever other
/// processes build.
#[derive(Debug)]
pub struct Stripped(InUse);

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
        InUse::take(COPIES, &version, |folder| {
            let copy = folder.join("slipway");
            cache::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(&copy).arg(&program))?;
            Ok(fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?)
        })
        .map(Self)
    }

    /// The folder, which contains only the copy.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    /// The copy.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder().join("slipway")
    }
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_program_that_is_built_again_has_another_copy() {
        let scratch = Scratch::new("program").unwrap();
        let program = scratch.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let first = Stripped::of(&program).unwrap();
        fs::remove_file(&program).unwrap();
        fs::copy("/bin/true", &program).unwrap();
        let second = Stripped::of(&program).unwrap();
        assert_ne!(first.path(), second.path());
        assert!(first.path().is_file() && second.path().is_file(), "both are used");
        assert_eq!(Stripped::of(&program).unwrap().path(), second.path());
    }
}
