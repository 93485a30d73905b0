//! Executables of other packages that tests start.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

/// Set by whoever has built all executables of the workspace before the tests.
///
/// A build of one package selects other features of its dependencies than one of the workspace, and so compiles many of
/// them a second time.
const ALL_BUILT: &str = "SLIPWAY_EXECUTABLES_BUILT";

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds the executables of a package beside the program of the tests, unless they were built with it.
///
/// # Errors
/// When cargo does not start, or they do not build.
pub fn build(package: &str) -> Result<()> {
    if std::env::var_os(ALL_BUILT).is_some() {
        return Ok(());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", package, "--bins"]).current_dir(root());
    let output = build.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
