//! Release files: static executables for Linux, of every architecture that machines have.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use slipway_testkit::cache;

use crate::output::say;
use crate::workspace;

mod zig;

/// Builds the executables of a release into `target/dist`: static, for Linux on amd64 and arm64.
///
/// They run on every distribution, also on a machine that has nothing but a kernel. The C parts are compiled by Zig, which
/// has the headers of both architectures and comes from pip. The same sources give the same bytes, in whichever folder
/// they are.
#[derive(clap::Args)]
pub struct Dist {
    /// Only these architectures.
    #[arg(long, value_name = "ARCHITECTURE", value_enum)]
    only: Vec<Architecture>,
    /// Build a second time, from a copy of the sources in another folder, and compare the bytes.
    #[arg(long)]
    twice: bool,
}

/// An architecture, by the name that Kubernetes has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

impl Architecture {
    fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The target of rustc: with musl, which is linked into the executable.
    fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }
}

/// The packages with an executable, and its name.
const EXECUTABLES: [(&str, &str); 2] =
    [("slipway", "slipway"), ("slipway-provider-aws", "slipway-provider-aws")];

/// The list of digests.
const SUMS: &str = "SHA256SUMS";

impl Dist {
    /// Runs the task.
    ///
    /// # Errors
    /// When something does not build, an executable is not static, or two builds differ.
    pub fn run(&self) -> anyhow::Result<()> {
        let all = Architecture::value_variants();
        let chosen = all.iter().filter(|one| self.only.is_empty() || self.only.contains(one));
        let dist = workspace::target().join("dist");
        for architecture in chosen {
            let built = build(workspace::root(), &workspace::target().join("static"), *architecture)?;
            let folder = dist.join(format!("linux-{}", architecture.name()));
            place(&built, &folder)?;
            if self.twice {
                let again = tempfile::tempdir()?;
                let sources = copy_of_sources(again.path())?;
                let built = build(&sources, &again.path().join("target"), *architecture)?;
                let second = again.path().join("dist");
                place(&built, &second)?;
                if fs::read(folder.join(SUMS))? != fs::read(second.join(SUMS))? {
                    bail!("{}: a second build has other bytes", architecture.name());
                }
                say(&format!("{}: a second build has the same bytes", architecture.name()));
            }
        }
        Ok(())
    }
}

/// Builds all executables for an architecture, and gives their files.
fn build(sources: &Path, target: &Path, architecture: Architecture) -> anyhow::Result<Vec<PathBuf>> {
    cache::run(Command::new("rustup").args(["target", "add", architecture.target()]))?;
    let zig = zig::install()?;
    let mut command = Command::new(zig.subcommand());
    command.args(["zigbuild", "--locked", "--profile", "dist", "--target", architecture.target()]);
    for (package, _) in EXECUTABLES {
        command.args(["--package", package]);
    }
    // What a file of the sources is called must not depend on where they are.
    let remapped = [(sources.to_owned(), "/slipway"), (cargo_home()?, "/cargo")];
    let flags = |option: &str| remapped.each_ref().map(|(from, to)| remap(option, from, to));
    command
        .current_dir(sources)
        .env("CARGO_ZIGBUILD_ZIG_PATH", zig.compiler())
        .env("PYTHONPATH", zig.packages())
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags("--remap-path-prefix=").join(OsStr::new("\x1f")))
        .env("CFLAGS", flags("-ffile-prefix-map=").join(OsStr::new(" ")))
        .env("SOURCE_DATE_EPOCH", "0");
    workspace::run(&mut command)?;
    let folder = target.join(architecture.target()).join("dist");
    Ok(EXECUTABLES.iter().map(|(_, name)| folder.join(name)).collect())
}

/// Copies executables into a folder, with the list of their digests as `sha256sum` reads it.
fn place(built: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for file in built {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        if !is_static(&bytes) {
            bail!("{} asks for a dynamic linker", file.display());
        }
        let name = file.file_name().context("an executable has no name")?;
        let placed = folder.join(name);
        fs::copy(file, &placed)?;
        let hundredths = bytes.len() / 10_000;
        say(&format!("{}: {}.{:02} MB", placed.display(), hundredths / 100, hundredths % 100));
    }
    let names = EXECUTABLES.iter().map(|(_, name)| name);
    let summed = Command::new("sha256sum").args(names).current_dir(folder).output()?;
    if !summed.status.success() {
        bail!("sha256sum: {}", String::from_utf8_lossy(&summed.stderr));
    }
    fs::write(folder.join(SUMS), summed.stdout)?;
    Ok(())
}

/// Whether an ELF file of 64 bits starts without a dynamic linker: none of its program headers names one.
fn is_static(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = elf.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let is_interpreter = |header: usize| number(header, 4) == Some(INTERPRETER as usize);
    let headers = || Some((number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?));
    let is_elf = elf.starts_with(b"\x7fELF\x02\x01");
    is_elf
        && headers()
            .is_some_and(|(first, size, count)| !(0..count).any(|index| is_interpreter(first + index * size)))
}

/// A copy of the sources that git knows, in another folder.
fn copy_of_sources(folder: &Path) -> anyhow::Result<PathBuf> {
    let copy = folder.join("sources");
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace::root()).output()?;
    for path in listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = Path::new(OsStr::from_bytes(path));
        let (from, to) = (workspace::root().join(path), copy.join(path));
        if from.is_file() {
            fs::create_dir_all(to.parent().context("a file without a folder")?)?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(copy)
}

/// The folder of cargo, where the sources of other crates are.
fn cargo_home() -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CARGO_HOME")
        .or_else(|| Some(set("HOME")?.join(".cargo")))
        .context("neither CARGO_HOME nor HOME is set")
}

fn remap(option: &str, from: &Path, to: &str) -> OsString {
    let mut text = OsString::from(option);
    text.push(from);
    text.push("=");
    text.push(to);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_dynamic_executable() {
        let own = std::env::current_exe().unwrap();
        assert!(!is_static(&fs::read(own).unwrap()), "tests are linked dynamically");
        assert!(!is_static(b"#!/bin/sh"), "a script is no executable of Linux");
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64, 0);
        assert!(is_static(&elf), "an executable that asks for nothing");
    }
}
