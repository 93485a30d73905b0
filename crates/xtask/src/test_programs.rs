//! The programs that `cargo test` builds, and the tests in them.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::output::say;
use crate::workspace::cargo;

/// How the names of test targets begin whose tests need machines.
const MACHINE: &str = "machine";

/// A program with tests, as cargo built it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestProgram {
    /// The folder of its package, in which its tests run.
    pub folder: PathBuf,
    /// The name of its target: that of the crate for unit tests.
    pub name: String,
    /// Whether it is a target of its own, below `tests/`.
    pub integration: bool,
    pub program: PathBuf,
}

/// Which part of the workspace is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All packages that do not use an SDK of a cloud.
    WithoutClouds,
    /// All packages.
    Everything,
    /// The test targets that need machines.
    Machines,
}

/// The test programs of a build, and what the lints said of their sources.
#[derive(Debug, Default)]
pub struct Built {
    /// In a stable order.
    pub programs: Vec<TestProgram>,
    /// Warnings and denied lints, each once, as the compiler prints them. Always none of a build without lints.
    pub warnings: Vec<String>,
}

/// Makes cargo compile the packages of the workspace with the driver of clippy, which is the compiler with more lints. A build
/// with lints takes little longer than one without them, and far less than a build and a check of everything.
///
/// Lints only warn, so that tests run also where a lint has a finding.
pub const WITH_LINTS: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "--cap-lints__CLIPPY_HACKERY__warn__CLIPPY_HACKERY__"),
];

/// Builds the test programs of a part of the workspace with these environment variables.
///
/// # Errors
/// When cargo does not start, or a program does not build.
pub fn build(part: Part, settings: &[(&str, &str)]) -> Result<Built> {
    let mut build = cargo(["test", "--workspace", "--no-run"]);
    match part {
        Part::WithoutClouds => {
            build.args(["--exclude", "slipway-provider-aws", "--exclude", "slipway-provider-aws-fuzz"]);
        }
        Part::Everything => {}
        Part::Machines => {
            build.args(["--test", "machine*"]);
        }
    }
    build.arg("--message-format=json").envs(settings.iter().copied()).stdout(Stdio::piped());
    let mut child = build.spawn().context("cargo cannot be started")?;
    let mut built = Built::default();
    if let Some(output) = child.stdout.take() {
        for line in std::io::BufReader::new(output).lines() {
            if let Ok(message) = serde_json::from_str(&line?) {
                built.add(&message);
            }
        }
    }
    if !child.wait()?.success() {
        bail!("the tests do not build");
    }
    built.programs.sort();
    Ok(built)
}

impl Built {
    /// Takes a message of cargo: prints what the compiler says, once, and keeps warnings and programs.
    fn add(&mut self, message: &serde_json::Value) {
        self.programs.extend(TestProgram::of(message));
        let said = &message["message"];
        let Some(text) = said["rendered"].as_str() else { return };
        let known = self.warnings.iter().any(|warning| warning == text);
        if message["reason"] != "compiler-message" || known {
            return;
        }
        say(text.trim_end());
        // A lint has a code, also one without a place in the sources. The compiler also counts what it said before.
        if said["level"] == "warning" && !said["code"].is_null() {
            self.warnings.push(text.to_owned());
        }
    }
}

impl TestProgram {
    /// The test program that a message of cargo is about.
    fn of(message: &serde_json::Value) -> Option<Self> {
        if message["profile"]["test"] != true {
            return None;
        }
        let target = &message["target"];
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Self {
            folder: manifest.parent()?.to_owned(),
            name: target["name"].as_str()?.to_owned(),
            integration: target["kind"].as_array()?.iter().any(|kind| kind == "test"),
            program: message["executable"].as_str()?.into(),
        })
    }

    /// Whether its tests need machines.
    pub fn on_machines(&self) -> bool {
        self.integration && self.name.starts_with(MACHINE)
    }

    /// The names of its tests: those that run by default, or those that run only on request.
    ///
    /// # Errors
    /// When the program does not start.
    pub fn tests(&self, on_request: bool) -> Result<Vec<String>> {
        let ignored = self.list(&["--ignored"])?;
        if on_request {
            return Ok(ignored);
        }
        Ok(self.list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
    }

    fn list(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let output = self.command().args(arguments).args(["--list", "--format=terse"]).output();
        let output = output.with_context(|| self.program.display().to_string())?;
        let lines = String::from_utf8(output.stdout)?;
        Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// A call of it, with the environment that `cargo test` gives it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        command
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(name: &str, kind: &str, test: bool, program: &serde_json::Value) -> serde_json::Value {
        json!({
            "reason": "compiler-artifact", "manifest_path": "/w/a/Cargo.toml", "profile": { "test": test },
            "target": { "name": name, "kind": [kind] }, "executable": program,
        })
    }

    #[test]
    fn warnings_are_kept_once() {
        let warning = |level: &str, code: serde_json::Value| {
            let said = json!({ "rendered": "warning: unused", "level": level, "code": code });
            json!({ "reason": "compiler-message", "message": said })
        };
        let lint = json!({ "code": "unused_imports" });
        let mut built = Built::default();
        built.add(&warning("warning", json!(null)));
        built.add(&warning("error", lint.clone()));
        assert!(built.warnings.is_empty());
        built.add(&warning("warning", lint.clone()));
        built.add(&warning("warning", lint));
        assert_eq!(built.warnings, ["warning: unused"]);
    }

    #[test]
    fn programs_are_known_by_their_profile() {
        let program = json!("/t/one-1");
        let found = TestProgram::of(&message("machine_one", "test", true, &program)).unwrap();
        assert_eq!((found.name.as_str(), found.folder.clone()), ("machine_one", PathBuf::from("/w/a")));
        assert!(found.integration && found.on_machines());
        let found = TestProgram::of(&message("machine", "lib", true, &program)).unwrap();
        assert!(!found.integration && !found.on_machines());
        for other in [
            message("one", "bin", false, &program),
            message("one", "test", true, &json!(null)),
            json!({ "reason": "build-finished" }),
        ] {
            assert!(TestProgram::of(&other).is_none(), "{other}");
        }
    }
}
