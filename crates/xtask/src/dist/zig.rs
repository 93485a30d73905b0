//! Zig, a C compiler with the headers of every target, and the subcommand of cargo that links with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use slipway_testkit::cache;

/// The versions that are installed.
const ZIG: &str = "0.17.1";
const CARGO_ZIGBUILD: &str = "0.24.1";

/// An installed Zig.
#[derive(Debug)]
pub struct Zig {
    packages: PathBuf,
}

/// Installs Zig by pip, if need be.
///
/// # Errors
/// When there is no Python, or it cannot be installed.
pub fn install() -> Result<Zig> {
    let version = format!("{ZIG}-{CARGO_ZIGBUILD}");
    let packages = cache::installed("zig", &version, |folder| {
        let packages = [format!("ziglang=={ZIG}"), format!("cargo-zigbuild=={CARGO_ZIGBUILD}")];
        cache::run(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--target"])
                .arg(folder)
                .args(packages),
        )
    })?;
    Ok(Zig { packages })
}

impl Zig {
    /// The compiler.
    #[must_use]
    pub fn compiler(&self) -> PathBuf {
        self.packages.join("ziglang/zig")
    }

    /// The subcommand of cargo, `cargo-zigbuild`.
    #[must_use]
    pub fn subcommand(&self) -> PathBuf {
        self.packages.join("bin/cargo-zigbuild")
    }

    /// The folder of the Python packages.
    #[must_use]
    pub fn packages(&self) -> &Path {
        &self.packages
    }
}
