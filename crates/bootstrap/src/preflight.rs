//! Preflight checks of a node's bootstrap: problems are found before anything is changed.
//!
//! A check is data: [`Questions`] name the facts to read, [`Facts`] has them, and [`check`] compares the two.
//! All checks run and all findings are reported at once, each with a hint. The names are kubeadm's where
//! kubeadm has the check, so that `--ignore-preflight-errors` accepts the same words.

mod derive;
mod etcd_data;
mod etcd_log;
mod facts;
mod host;
mod network;
mod paths;
mod protobuf;
mod questions;
mod runtime;

use std::collections::BTreeSet;

use serde::Serialize;

pub use etcd_data::{EtcdData, EtcdIds, HEAD as ETCD_LOG_HEAD, way_out as way_out_of_etcd_data};
pub use etcd_log::{EtcdLog, EtcdLogReach};
pub use facts::{
    Cgroups, Facts, InterfaceAddress, NetworkRange, PathState, PortState, Runtime, ServiceState,
};
pub use questions::{ExpectedFile, ExpectedPort, KernelSetting, Purpose, Questions, RangeQuestion};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing is done unless the check is ignored by its name.
    Error,
    /// It is reported, and the operation continues.
    Warning,
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check, as `--ignore-preflight-errors` takes it.
    pub check: String,
    /// How bad it is.
    pub severity: Severity,
    /// The problem, as a sentence.
    pub message: String,
    /// The way out.
    pub hint: String,
    /// Whether it was an error and is ignored by its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}

/// The results of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The findings: errors first, then in the order of the checks.
    pub findings: Vec<Finding>,
    /// The names of the checks that ran.
    pub checks: Vec<String>,
}

impl Report {
    /// Whether no finding blocks the operation.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The findings that block the operation.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Turns errors of the named checks into warnings; `all` names every check. Case does not matter, as in kubeadm.
    ///
    /// Returns the names that no check has.
    pub fn ignore(&mut self, names: &[String]) -> Vec<String> {
        let wanted: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        for finding in &mut self.findings {
            let named = wanted.contains("all") || wanted.contains(&finding.check.to_lowercase());
            if named && finding.severity == Severity::Error {
                finding.severity = Severity::Warning;
                finding.ignored = true;
            }
        }
        let known: BTreeSet<String> = self.checks.iter().map(|check| check.to_lowercase()).collect();
        names
            .iter()
            .filter(|name| !known.contains(&name.to_lowercase()) && !name.eq_ignore_ascii_case("all"))
            .cloned()
            .collect()
    }
}

/// Runs every check that the questions ask for.
#[must_use]
pub fn check(questions: &Questions, facts: &Facts) -> Report {
    let mut checks = Checks::default();
    host::check(questions, facts, &mut checks);
    paths::check(questions, facts, &mut checks);
    runtime::check(questions, facts, &mut checks);
    network::check(questions, facts, &mut checks);
    checks.finish()
}

/// Runs the check of images alone, for a host that is a node already.
#[must_use]
pub fn check_images(questions: &Questions, facts: &Facts) -> Report {
    let mut checks = Checks::default();
    if let Some(Ok(runtime)) = &facts.runtime {
        runtime::images(questions, runtime, &mut checks);
    }
    checks.finish()
}

/// Collects what checks say while they run.
#[derive(Default)]
struct Checks {
    report: Report,
}

impl Checks {
    /// Notes that a check ran, and what it found if it found something.
    fn note(&mut self, check: impl Into<String>, severity: Severity, found: Option<(String, String)>) {
        let check = check.into();
        if let Some((message, hint)) = found {
            let finding = Finding { check: check.clone(), severity, message, hint, ignored: false };
            self.report.findings.push(finding);
        }
        if !self.report.checks.contains(&check) {
            self.report.checks.push(check);
        }
    }

    fn error(&mut self, check: impl Into<String>, found: Option<(String, String)>) {
        self.note(check, Severity::Error, found);
    }

    fn warning(&mut self, check: impl Into<String>, found: Option<(String, String)>) {
        self.note(check, Severity::Warning, found);
    }

    fn finish(mut self) -> Report {
        self.report.findings.sort_by_key(|finding| finding.severity);
        self.report
    }
}

/// A finding when a condition holds.
fn when(wrong: bool, message: impl Into<String>, hint: impl Into<String>) -> Option<(String, String)> {
    wrong.then(|| (message.into(), hint.into()))
}

#[cfg(test)]
mod tests;
