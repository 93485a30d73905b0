//! Programs built from published Go modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cache;
use crate::scratch::Scratch;

/// Main packages of published modules, which are built together.
///
/// `go install package@version` refuses modules with replacements. Instead, a temporary module that requires
/// them is built; Go's sum database verifies the downloads.
#[derive(Debug, Default)]
pub struct Programs {
    /// The required modules, each with its version.
    pub modules: Vec<(String, String)>,
    /// A module, and its replacement: a module and its version, or a folder.
    pub replacements: Vec<(String, String)>,
    /// A package, and the name of its program. Packages of the temporary module begin with `./`.
    pub packages: Vec<(String, String)>,
    /// Files of the temporary module, and their contents.
    pub files: Vec<(String, String)>,
    /// Flags of the linker besides those that leave symbols out.
    pub linker_flags: String,
    /// Build tags, separated by blanks.
    pub tags: String,
    /// Whether parts in C are compiled too, which needs a C compiler.
    pub with_c: bool,
}

impl Programs {
    /// Builds them into a folder.
    ///
    /// # Errors
    /// When Go is not installed, a module cannot be fetched, or a package cannot be built; with Go's output.
    pub fn build(&self, folder: &Path) -> Result<()> {
        let work = self.module()?;
        let built = work.path().join("built");
        fs::create_dir(&built)?;
        let mut go = self.command(&work, "build");
        go.arg("-o").arg(format!("{}/", built.display()));
        cache::run(go.args(self.packages.iter().map(|(package, _)| package)))?;
        for (package, program) in &self.packages {
            fs::copy(built.join(name_by_go(package)), folder.join(program))
                .with_context(|| format!("{package} is no program"))?;
        }
        Ok(())
    }

    /// Builds the tests of a package into a program.
    ///
    /// # Errors
    /// As [`Programs::build`].
    pub fn build_tests(&self, package: &str, program: &Path) -> Result<()> {
        let work = self.module()?;
        cache::run(self.command(&work, "test").arg("-c").arg("-o").arg(program).arg(package))
    }

    fn module(&self) -> Result<Scratch> {
        let work = Scratch::new("go")?;
        let mut text = String::from("module slipway.invalid/programs\n\ngo 1.24.0\n\n");
        for (module, version) in &self.modules {
            text += &format!("require {module} {version}\n");
        }
        for (module, other) in &self.replacements {
            text += &format!("replace {module} => {other}\n");
        }
        fs::write(work.path().join("go.mod"), text)?;
        for (path, text) in &self.files {
            let path = work.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(work.path()))?;
            fs::write(path, text)?;
        }
        Ok(work)
    }

    fn command(&self, work: &Scratch, verb: &str) -> Command {
        let mut go = compiler(verb, &self.linker_flags);
        // The temporary module gets the requirements of the required modules only here.
        go.current_dir(work.path()).arg("-mod=mod");
        if !self.tags.is_empty() {
            go.args(["-tags", &self.tags]);
        }
        if self.with_c {
            go.env("CGO_ENABLED", "1");
        }
        go
    }
}

/// A Go command that compiles in the fastest way. The linker gets these flags besides those that leave
/// symbols out.
#[must_use]
pub fn compiler(verb: &str, linker_flags: &str) -> Command {
    let mut go = Command::new("go");
    go.env("CGO_ENABLED", "0").env("GOFLAGS", "-buildvcs=false");
    // Compilers end before a garbage collection is worthwhile, which would take a quarter of their time.
    go.env("GOGC", "400");
    // The programs are not debugged: without debug information the build takes a seventh less time.
    go.args([verb, "-trimpath", "-gcflags=all=-dwarf=false"]).arg(format!("-ldflags=-s -w {linker_flags}"));
    go
}

/// Builds programs of a published module, which may replace no other, into a folder.
///
/// # Errors
/// When Go is not installed, the module cannot be fetched, or a program cannot be built; with Go's output.
pub fn install(packages: &str, version: &str, folder: &Path) -> Result<()> {
    cache::run(compiler("install", "").env("GOBIN", folder).arg(format!("{packages}@v{version}")))
}

/// A fetched module.
#[derive(Debug)]
pub struct Module {
    /// Its `go.mod`.
    pub file: PathBuf,
    /// The folder with its sources, which is read-only.
    pub folder: PathBuf,
}

/// Fetches a published module if need be.
///
/// # Errors
/// When it cannot be fetched.
pub fn fetch(module: &str, version: &str) -> Result<Module> {
    let work = Programs::default().module()?;
    let mut go = Command::new("go");
    go.current_dir(work.path()).args(["mod", "download", "-json"]).arg(format!("{module}@{version}"));
    let output = go.output().context("go cannot be started")?;
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let path = |field: &str| {
        let path =
            said[field].as_str().with_context(|| format!("{module} {version} cannot be fetched: {said}"))?;
        anyhow::Ok(PathBuf::from(path))
    };
    Ok(Module { file: path("GoMod")?, folder: path("Dir")? })
}

/// How Go names a program: by the last part of its package that is not a version.
fn name_by_go(package: &str) -> &str {
    let mut parts = package.rsplit('/');
    let last = parts.next().unwrap_or(package);
    let is_version =
        last.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version { parts.next().unwrap_or(last) } else { last }
}

#[cfg(test)]
mod tests {
    use super::name_by_go;

    #[test]
    fn programs_have_the_names_that_go_gives_them() {
        assert_eq!(name_by_go("k8s.io/kubernetes/cmd/kubelet"), "kubelet");
        assert_eq!(name_by_go("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(name_by_go("example.org/vault"), "vault");
    }
}
