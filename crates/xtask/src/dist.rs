//! `cargo xtask dist`: the executables of a release.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::output::say;
use crate::workspace;

/// Builds the executables of a release, each as one static file that runs on any distribution.
///
/// They are written to target/dist/TARGET, with their SHA-256 digests in `SHA256SUMS`. Paths of the machine and times are not part
/// of the files, so that two builds of the same commit with the same compiler are byte-equal; `--twice` proves it.
#[derive(Args)]
pub(crate) struct Dist {
    /// The target triples; the static targets of both architectures unless given. `rustup target add TARGET` installs one.
    #[arg(long = "target", value_name = "TARGET", default_values = TARGETS)]
    targets: Vec<String>,
    /// Only these packages; all with executables of a release unless given.
    #[arg(long = "package", value_name = "PACKAGE", default_values = PACKAGES)]
    packages: Vec<String>,
    /// Build everything a second time in another folder, and compare the files.
    #[arg(long)]
    twice: bool,
}

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

const PACKAGES: [&str; 10] = [
    "slipway",
    "slipway-aws-model",
    "slipway-cloud-controller",
    "slipway-etcd-storage",
    "slipway-machine-inventory",
    "slipway-provider-aws",
    "slipway-provider-hosts",
    "slipway-provider-kubernetes",
    "slipway-provider-sim",
    "slipway-token-controller",
];

/// The name of the list of digests, in the form of `sha256sum --check`.
const DIGESTS: &str = "SHA256SUMS";

impl Dist {
    /// Builds and collects the files of each target.
    pub(crate) fn run(&self) -> Result<()> {
        for target in &self.targets {
            ensure!(
                is_installed(target)?,
                "the standard library for {target} is not installed: run `rustup target add {target}`"
            );
        }
        for target in &self.targets {
            let files = self.build(target, &workspace::target().join("dist-build"))?;
            if self.twice {
                let again = self.build(target, &workspace::target().join("dist-again"))?;
                compare(&files, &again)?;
                say(&format!("{target}: both builds are byte-equal"));
            }
            collect(&files, &workspace::target().join("dist").join(target))?;
        }
        Ok(())
    }

    /// Builds into a folder, and gives the executables by name.
    fn build(&self, target: &str, folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
        let mut cargo = workspace::cargo(["build", "--locked", "--profile", "dist", "--bins"]);
        cargo.args(["--target", target]);
        for package in &self.packages {
            cargo.args(["--package", package]);
        }
        cargo.env("CARGO_TARGET_DIR", folder).env("CARGO_INCREMENTAL", "0").env("SOURCE_DATE_EPOCH", "0");
        let map = paths(folder)?;
        let flags = map.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
        let flags: Vec<String> =
            ["-Ctarget-feature=+crt-static".to_owned()].into_iter().chain(flags).collect();
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        // Parts in C have the paths of their sources as well.
        let flags = map.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
        cargo.env("CFLAGS", flags.collect::<Vec<_>>().join(" "));
        workspace::run(&mut cargo)?;
        executables(&folder.join(target).join("dist"))
    }
}

/// Whether the compiler has the standard library of a target.
fn is_installed(target: &str) -> Result<bool> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]).current_dir(workspace::root());
    let output = rustc.output().context("cannot start rustc")?;
    ensure!(output.status.success(), "rustc does not know the target {target}");
    Ok(Path::new(String::from_utf8(output.stdout)?.trim()).is_dir())
}

/// The folders whose paths would be in the files, and the text that replaces them.
fn paths(build: &Path) -> Result<Vec<(PathBuf, &'static str)>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let home = home.context("the folder of cargo is not known: set CARGO_HOME")?;
    // Of two prefixes that fit, the compiler takes the last one.
    Ok(vec![(workspace::root().to_owned(), "/slipway"), (home, "/cargo"), (build.to_owned(), "/build")])
}

/// The executables in a folder of cargo, by name.
fn executables(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.contains('.') {
            found.insert(name, entry.path());
        }
    }
    ensure!(!found.is_empty(), "cargo built no executable in {}", folder.display());
    Ok(found)
}

/// Compares the files of two builds.
fn compare(one: &BTreeMap<String, PathBuf>, other: &BTreeMap<String, PathBuf>) -> Result<()> {
    ensure!(one.keys().eq(other.keys()), "the two builds do not have the same executables");
    let mut different = Vec::new();
    for ((name, one), other) in one.iter().zip(other.values()) {
        if fs::read(one)? != fs::read(other)? {
            different.push(name.as_str());
        }
    }
    if !different.is_empty() {
        bail!("these executables differ between two builds: {}", different.join(", "));
    }
    Ok(())
}

/// Copies the executables to a folder, with their digests.
fn collect(files: &BTreeMap<String, PathBuf>, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (name, path) in files {
        let size = fs::copy(path, folder.join(name))?;
        say(&format!("{:>6.1} MB  {}", size as f64 / 1e6, folder.join(name).display()));
    }
    let mut sums = Command::new("sha256sum");
    let output = sums.args(files.keys()).current_dir(folder).output().context("cannot start sha256sum")?;
    ensure!(output.status.success(), "sha256sum: {}", output.status);
    fs::write(folder.join(DIGESTS), output.stdout)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_compared_by_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, content: &str| {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("slipway"), content).unwrap();
            fs::write(folder.join("slipway.d"), name).unwrap();
            executables(&folder).unwrap()
        };
        let (one, same, other) = (build("one", "a"), build("same", "a"), build("other", "b"));
        compare(&one, &same).unwrap();
        let error = compare(&one, &other).unwrap_err().to_string();
        assert!(error.ends_with("differ between two builds: slipway"), "{error}");

        let target = folder.path().join("dist");
        collect(&one, &target).unwrap();
        let digests = fs::read_to_string(target.join(DIGESTS)).unwrap();
        assert!(digests.ends_with("  slipway\n") && digests.lines().count() == 1, "{digests}");
    }

    /// Packages whose executables only developers and tests run. The provider of nodes is a part of `slipway`.
    const NOT_RELEASED: [&str; 6] = [
        "slipway-fuzz",
        "slipway-integration",
        "slipway-provider-aws-fuzz",
        "slipway-provider-conformance",
        "slipway-provider-node",
        "xtask",
    ];

    #[test]
    fn a_release_has_the_executables_of_all_packages_but_those_for_developers() {
        let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let text = manifest(workspace::root());
        let (members, _) = text.split_once("members = [").unwrap().1.split_once(']').unwrap();
        let members = members.split(',').map(|member| member.trim().trim_matches('"'));
        let mut with_executables: Vec<String> = members
            .filter(|member| !member.is_empty())
            .chain(["."])
            .map(|member| workspace::root().join(member))
            .filter(|folder| folder.join("src/main.rs").exists() || folder.join("src/bin").exists())
            .map(|folder| {
                let text = manifest(&folder);
                let package = text.split_once("[package]").unwrap().1;
                let name = package.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
                name.trim_matches('"').to_owned()
            })
            .collect();
        let mut known = [&PACKAGES[..], &NOT_RELEASED[..]].concat();
        with_executables.sort_unstable();
        known.sort_unstable();
        assert_eq!(with_executables, known);
    }

    #[test]
    fn a_target_is_known_by_the_compiler() {
        assert!(is_installed("x86_64-unknown-none-nonsense").is_err());
    }
}
