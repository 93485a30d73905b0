//! Checks licences, bans and sources of the dependencies with cargo-deny.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::output::say;
use crate::workspace;

/// The version that is installed where there is none.
const VERSION: &str = "0.20.2";

/// Checks licences, bans and sources of the dependencies as `deny.toml` has them.
///
/// Takes the cargo-deny on the search path. Where there is none, one is built once and kept in the user's cache
/// folder.
#[derive(clap::Args)]
pub struct Deny;

impl Deny {
    /// Runs the task.
    ///
    /// # Errors
    /// When cargo-deny cannot be had or finds something.
    pub fn run(&self) -> anyhow::Result<()> {
        let program = match installed() {
            Some(program) => program,
            None => install()?,
        };
        workspace::run(
            Command::new(program)
                .args(["--workspace", "--all-features", "check", "--hide-inclusion-graph"])
                // deny.toml names crates that are not there yet, so that they are ready for those who add them.
                .args(["--allow", "unused-wrapper"])
                .args(["bans", "licenses", "sources"])
                .current_dir(workspace::root()),
        )
    }
}

fn installed() -> Option<PathBuf> {
    let candidates = [PathBuf::from("cargo-deny"), kept().ok()?.join("bin/cargo-deny")];
    candidates.into_iter().find(|program| answers(program))
}

fn answers(program: &Path) -> bool {
    let call = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    call.is_ok_and(|status| status.success())
}

/// Builds it without optimisation: it runs for a second, its build would take minutes.
fn install() -> anyhow::Result<PathBuf> {
    let folder = kept()?;
    say(&format!("cargo-deny is not installed; building {VERSION} once into {}", folder.display()));
    let mut command =
        workspace::cargo(["install", "cargo-deny", "--locked", "--debug", "--version", VERSION, "--root"]);
    command.arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "0").env_remove("CARGO_TARGET_DIR");
    workspace::run(&mut command).context("cargo-deny cannot be built")?;
    Ok(folder.join("bin/cargo-deny"))
}

fn kept() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let cache = cache.context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join(format!("slipway/cargo-deny-{VERSION}")))
}
