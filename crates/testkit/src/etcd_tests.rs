//! etcd's own tests of what its clients see (`go.etcd.io/etcd/tests/v3/common`), for an etcd that runs already.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cache;
use crate::go::{self, Programs};
use crate::kubernetes::ETCD_VERSION;
use crate::scratch::Scratch;

const MODULE: &str = "go.etcd.io/etcd/tests/v3";

/// The runner, in place of those that start members. Another runner is another version of the program.
const RUNNER: &str = include_str!("etcd_tests/external.go");
const CHOICE: &str = include_str!("etcd_tests/runner.go");
const RUNNER_VERSION: u32 = 1;

/// Builds the tests if need be, and gives the program. The variables `ETCD_URL`, `ETCD_CA`, `ETCD_CERT` and `ETCD_KEY` name the
/// etcd, its authority, and a client's certificate and key. The tests delete all keys and leases.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install() -> Result<PathBuf> {
    let version = format!("{ETCD_VERSION}-external-{RUNNER_VERSION}");
    let folder = cache::installed("etcd-tests", &version, |folder| {
        let published = format!("v{ETCD_VERSION}");
        let module = go::fetch(MODULE, &published)?.folder;
        let work = Scratch::new("etcd-tests")?;
        let parts = ["common", "framework", "go.mod"].map(|part| module.join(part));
        cache::run(Command::new("cp").arg("-r").args(parts).arg(work.path()))?;
        cache::run(Command::new("chmod").args(["-R", "u+w"]).arg(work.path()))?;
        fs::write(work.path().join("framework/integration/external.go"), RUNNER)?;
        fs::write(work.path().join("common/unit_test.go"), CHOICE)?;
        let programs = Programs {
            modules: vec![(MODULE.to_owned(), published)],
            replacements: vec![(MODULE.to_owned(), work.path().display().to_string())],
            ..Programs::default()
        };
        programs.build_tests(&format!("{MODULE}/common"), &folder.join("common.test"))
    })?;
    Ok(folder.join("common.test"))
}
