//! Plans of AWS clusters, held against what such clusters are known to consist of.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::Value as Json;

use crate::output::say;
use crate::workspace::{cargo, cases, root, run};

/// The least mean share of all attributes, and of those that mean something, that a plan must have right.
const LEAST_MEAN: (f64, f64) = (0.97, 0.98);
/// The least share of any one case.
const LEAST_OF_A_CASE: f64 = 0.93;

/// The least mean share of what objects inside a cluster have.
const LEAST_OF_OBJECTS: &str = "0.98";

/// Plans every parity case offline and scores the plans.
///
/// The cases are folders with `spec.yaml`, `expected.json` and `objects.json`; `run_parity.py`, its comparator and
/// `objects_parity.py` lie in `tools` beside them. Both are found in `../shared` of the workspace, or where `--cases` and `SLIPWAY_CASES` say.
#[derive(clap::Args)]
pub struct Parity {
    /// The folder of the cases.
    #[arg(long, env = "SLIPWAY_CASES")]
    cases: Option<PathBuf>,
    /// Take the optimised build.
    #[arg(long)]
    release: bool,
}

impl Parity {
    /// Runs the task.
    ///
    /// # Errors
    /// When something cannot be built or run, or a plan has less right than it must.
    pub fn run(&self) -> anyhow::Result<()> {
        let cases = self.cases.clone().unwrap_or_else(cases);
        let scorer = cases.join("../tools/run_parity.py");
        if !scorer.is_file() {
            bail!("there is no {}; name the folder of the cases with --cases", scorer.display());
        }
        let program = self.build()?;
        let output = Command::new("python3")
            .arg(&scorer)
            .args(["--output", "json", "--impact", "20", "--bin"])
            .arg(&program)
            .arg("--cases")
            .arg(&cases)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start python3")?;
        let report: Json = serde_json::from_slice(&output.stdout).context("the scores are no JSON")?;
        judge(&report)?;
        let objects = Command::new("python3")
            .arg(cases.join("../tools/objects_parity.py"))
            .args(["--min", LEAST_OF_OBJECTS, "--bin"])
            .arg(&program)
            .arg("--cases")
            .arg(&cases)
            .status()
            .context("cannot start python3")?;
        ensure!(objects.success(), "the objects inside clusters are below {LEAST_OF_OBJECTS}");
        Ok(())
    }

    /// Builds the program with what plans offline; returns where it is.
    fn build(&self) -> anyhow::Result<PathBuf> {
        let profile = if self.release { "release" } else { "dev" };
        let packages = ["build", "--profile", profile, "-p", "slipway", "-p", "slipway-aws-model", "--bins"];
        run(&mut cargo(packages))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let folder = if self.release { "release" } else { "debug" };
        Ok(target.join(folder).join(Path::new("slipway")))
    }
}

fn judge(report: &Json) -> anyhow::Result<()> {
    let number = |json: &Json, name: &str| json[name].as_f64().unwrap_or_default();
    let cases = report["cases"].as_array().context("the scores name no cases")?;
    let mut problems = Vec::new();
    for case in cases {
        let name = case["fixture"].as_str().unwrap_or_default();
        let (strict, semantic) = (number(case, "strict"), number(case, "semantic"));
        let (extra, excess) = (number(case, "extra"), number(case, "excess"));
        say(&format!(
            "  {name:32} strict {strict:.4}  semantic {semantic:.4}  extra {extra}  grants {excess}"
        ));
        let error = case["error"].as_str().unwrap_or_default();
        if !error.is_empty() {
            problems.push(format!("{name}: {error}"));
        } else if strict.min(semantic) < LEAST_OF_A_CASE || extra + excess > 0.0 {
            problems.push(format!("{name} is below what a case must have, or plans too much"));
        }
    }
    let total = &report["total"];
    let (strict, semantic) = (number(total, "strict"), number(total, "semantic"));
    say(&format!("  {:32} strict {strict:.4}  semantic {semantic:.4}", "mean"));
    for loss in report["losses"].as_array().into_iter().flatten() {
        let text = |name: &str| loss[name].as_str().unwrap_or_default();
        say(&format!(
            "  lost {} times: {} {}: {}",
            loss["leaves"],
            text("type"),
            text("path"),
            text("example")
        ));
    }
    if strict < LEAST_MEAN.0 || semantic < LEAST_MEAN.1 {
        problems.push(format!("the means {strict:.4} and {semantic:.4} are below {LEAST_MEAN:?}"));
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}
