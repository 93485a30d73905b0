//! promtool, which checks and tests the rules of Prometheus.

use std::path::PathBuf;

use anyhow::Result;

use crate::{cache, packages};

/// The program as its package installs it.
const PROGRAM: &str = "/usr/bin/promtool";

/// Installs it if need be, and gives the program.
///
/// # Errors
/// When the package is missing and cannot be installed.
pub fn install() -> Result<PathBuf> {
    cache::check_available("promtool")?;
    packages::install_missing(&[(PROGRAM, "prometheus")])?;
    Ok(PROGRAM.into())
}
