//! kube-bench, which compares a machine with the CIS Kubernetes Benchmark.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::go::Programs;
use crate::{Machine, cache};

/// The version that is built, without its `v`. Newer releases are not published as modules.
pub const VERSION: &str = "0.8.0";

/// The table of checks, a folder of `fixtures/kube-bench`.
pub const TABLE: &str = "cis-1.12";

/// The folder of the program and its tables on a machine.
const PLACE: &str = "/run/kube-bench";

/// The result of one check.
#[derive(Debug, Deserialize)]
pub struct Check {
    /// Its number in the table, as `1.2.15`.
    #[serde(rename = "test_number")]
    pub number: String,
    /// `PASS`, `FAIL`, `WARN` or `INFO`.
    pub status: String,
    /// The rule that it checks.
    #[serde(rename = "test_desc")]
    pub rule: String,
    /// What was found.
    #[serde(default)]
    pub actual_value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    controls: Vec<Control>,
}

#[derive(Deserialize)]
struct Control {
    tests: Vec<Section>,
}

#[derive(Deserialize)]
struct Section {
    results: Vec<Check>,
}

/// Builds kube-bench if need be, and returns the folder with it.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn install() -> Result<PathBuf> {
    cache::installed("kube-bench", VERSION, |folder| {
        let module = "github.com/aquasecurity/kube-bench";
        let program = Programs {
            modules: vec![(module.to_owned(), format!("v{VERSION}"))],
            packages: vec![(module.to_owned(), "kube-bench".to_owned())],
            ..Programs::default()
        };
        program.build(folder)
    })
}

/// Runs the checks of these targets on a machine, as `master`, `etcd`, `controlplane` or `node`, in the order of the table.
///
/// # Errors
/// When kube-bench cannot be built or run, or its report cannot be read.
pub fn run(machine: &Machine, targets: &[&str]) -> Result<Vec<Check>> {
    let program = format!("{PLACE}/kube-bench");
    machine.check(["mkdir", "-p", &format!("{PLACE}/{TABLE}")])?;
    machine.copy_in(&install()?.join("kube-bench"), &program)?;
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kube-bench");
    let mut files = vec![tables.join("config.yaml")];
    for file in fs::read_dir(tables.join(TABLE))? {
        files.push(file?.path());
    }
    for file in files {
        let name = file.strip_prefix(&tables)?.display();
        machine.write(&format!("{PLACE}/{name}"), "600", fs::read(&file)?)?;
    }
    let report = machine.check([
        program.as_str(),
        "run",
        "--json",
        "--config-dir",
        PLACE,
        "--config",
        &format!("{PLACE}/config.yaml"),
        "--benchmark",
        TABLE,
        "--targets",
        &targets.join(","),
    ])?;
    machine.check(["rm", "-r", PLACE])?;
    let report: Report = serde_json::from_str(&report).context("the report of kube-bench")?;
    Ok(report.controls.into_iter().flat_map(|control| control.tests).flat_map(|one| one.results).collect())
}
