//! Tests on machines: those of the test targets whose names begin with `machine`.
//!
//! A cluster that comes up waits as much as it works, and every test has a network of its own. So several run at a time,
//! whatever target they are of.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::output::say;
use crate::workspace::cargo;

/// Tests that take minutes, the longest first, by the beginnings of their names. They begin before all others, so that none
/// of them runs on alone at the end.
const LONGEST: [&str; 7] = [
    "machine_hosts grow::",
    "machine_nodes life::",
    "machine_hosts one_machine_",
    "machine_hosts endpoint::",
    "machine_adopt a_cluster_of_kubeadm_",
    "machine_witness kubeadm::",
    "machine_hosts crash::",
];

/// A test target that is built.
#[derive(Clone, Debug)]
struct Target {
    name: String,
    program: PathBuf,
    /// The folder of its package, where its tests expect to be.
    folder: PathBuf,
}

/// A test.
#[derive(Debug)]
struct Test {
    target: Target,
    name: String,
}

/// How a test ended.
#[derive(Debug)]
struct Ended {
    test: Test,
    passed: bool,
    took: Duration,
}

/// Builds them, and runs so many at a time. All run, also after one that failed.
///
/// # Errors
/// When they do not build, or some fail.
pub fn run(at_once: usize) -> Result<()> {
    let mut tests = Vec::new();
    for target in build()? {
        tests.extend(target.tests()?);
    }
    tests.sort_by_key(Test::rank);
    let tests = VecDeque::from(tests);
    say(&format!("{} tests on machines, {at_once} at a time", tests.len()));
    let (tests, ended) = (Mutex::new(tests), Mutex::new(Vec::new()));
    let next = || tests.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || -> Result<()> {
        while let Some(test) = next() {
            let done = test.run()?;
            ended.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => bail!("a thread that runs tests ended"),
        })
    })?;
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!(
        "one after the other: {:.1} s",
        ended.iter().map(|one| one.took.as_secs_f64()).sum::<f64>()
    ));
    let failed: Vec<String> =
        ended.iter().filter(|one| !one.passed).map(|one| one.test.to_string()).collect();
    if !failed.is_empty() {
        bail!("failed on machines: {}", failed.join(", "));
    }
    Ok(())
}

/// Builds the targets, which cargo names on its standard output.
fn build() -> Result<Vec<Target>> {
    let mut build = cargo(["test", "--workspace", "--test", "machine*", "--no-run"]);
    build.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = build.spawn().context("cargo cannot be started")?;
    let mut targets = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in std::io::BufReader::new(output).lines() {
            targets.extend(serde_json::from_str(&line?).ok().as_ref().and_then(Target::of));
        }
    }
    if !child.wait()?.success() {
        bail!("they do not build");
    }
    targets.sort_by(|one, other| one.folder.cmp(&other.folder).then_with(|| one.name.cmp(&other.name)));
    Ok(targets)
}

impl Target {
    /// The target that a message of cargo's is about, when it is one of these.
    fn of(message: &serde_json::Value) -> Option<Self> {
        let target = &message["target"];
        let is_test = target["kind"].as_array()?.iter().any(|kind| kind == "test");
        let name = target["name"].as_str().filter(|name| is_test && name.starts_with("machine"))?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Self {
            name: name.to_owned(),
            program: message["executable"].as_str()?.into(),
            folder: manifest.parent()?.to_owned(),
        })
    }

    /// Its tests: those that only run when they are asked for.
    fn tests(&self) -> Result<Vec<Test>> {
        let output = self.command().args(["--list", "--format=terse"]).output();
        let output = output.with_context(|| self.program.display().to_string())?;
        let lines = String::from_utf8(output.stdout)?;
        let names = lines.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(|name| Test { target: self.clone(), name: name.to_owned() }).collect())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--ignored").current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

impl std::fmt::Display for Test {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.target.name, self.name)
    }
}

impl Test {
    /// When it begins: the lower, the earlier.
    fn rank(&self) -> usize {
        let name = self.to_string();
        LONGEST.iter().position(|begin| name.starts_with(begin)).unwrap_or(LONGEST.len())
    }

    fn run(self) -> Result<Ended> {
        let begin = Instant::now();
        let output = self.target.command().args(["--exact", &self.name, "--nocapture"]).output();
        let output = output.with_context(|| self.target.program.display().to_string())?;
        let (passed, took) = (output.status.success(), begin.elapsed());
        let verdict = if passed { "ok" } else { "FAILED" };
        let line = format!("test {self} ... {verdict} in {:.1} s", took.as_secs_f64());
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        if passed {
            say(&line);
        } else {
            say(&format!("{line}\n{}", said.concat()));
        }
        Ok(Ended { test: self, passed, took })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_begin_first() {
        let target = Target {
            name: "machine_hosts".to_owned(),
            program: PathBuf::from("/t/machine_hosts-1"),
            folder: PathBuf::from("/w"),
        };
        let rank = |name: &str| Test { target: target.clone(), name: name.to_owned() }.rank();
        assert!(rank("grow::a") < rank("endpoint::a") && rank("endpoint::a") < rank("a_host"));
        assert_eq!(rank("a_host"), rank("people::a"));
    }

    #[test]
    fn targets_are_known_by_their_names_and_kinds() {
        let message = |name: &str, kind: &str, program: serde_json::Value| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/w/a/Cargo.toml",
                "target": { "name": name, "kind": [kind] }, "executable": program,
            })
        };
        let found = Target::of(&message("machine_one", "test", json!("/t/machine_one-1"))).unwrap();
        assert_eq!((found.name.as_str(), found.folder), ("machine_one", PathBuf::from("/w/a")));
        for other in [
            message("it", "test", json!("/t/it-1")),
            message("machine_one", "lib", json!(null)),
            message("machine_one", "test", json!(null)),
            json!({ "reason": "build-finished" }),
        ] {
            assert!(Target::of(&other).is_none(), "{other}");
        }
    }
}
