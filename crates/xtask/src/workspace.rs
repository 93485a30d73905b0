//! The workspace: its folder, its sources, and calls of cargo in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The folder of the workspace.
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// The environment variable that names the folder of [`cases`].
pub const CASES: &str = "SLIPWAY_CASES";

/// The folder of clusters that kOps made, each with its spec and its known contents. It is not part of the workspace: it is
/// `../shared/cases`, or what `SLIPWAY_CASES` says.
pub fn cases() -> PathBuf {
    std::env::var_os(CASES).map_or_else(|| root().join("../shared/cases"), PathBuf::from)
}

/// A call of the cargo that runs this task, in the folder of the workspace.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Builds the program as tests have it, and gives it.
///
/// # Errors
/// When it does not build.
pub fn program() -> anyhow::Result<PathBuf> {
    run(&mut cargo(["build", "--package", "slipway"]))?;
    Ok(target().join("debug/slipway"))
}

/// The folder of build products.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Runs a command with its output passed through.
///
/// # Errors
/// When it cannot be started or does not end with success.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{status}");
    }
    Ok(())
}

/// Runs a command at the lowest priority and without output; the error has what it wrote.
///
/// # Errors
/// When it cannot be started or does not end with success.
pub fn run_quietly(command: &Command) -> anyhow::Result<()> {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    nice.current_dir(command.get_current_dir().unwrap_or(root()));
    nice.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = nice.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        bail!("{}{}", said.concat(), output.status);
    }
    Ok(())
}

/// Every file below the workspace with an extension, by its path in the workspace, in order. Build products and
/// hidden folders are left out.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type()?.is_dir() {
                if name != "target" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path.strip_prefix(root())?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file of the workspace.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {}", path.display()))
}
