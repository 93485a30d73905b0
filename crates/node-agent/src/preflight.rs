//! The checks before a bootstrap: they read the host and report all findings, and obstacles stop the
//! bootstrap.

use slipway_bootstrap::preflight::{self, Finding, Questions, Report};

use super::facts::{self, Looking};
use crate::code;
use crate::error::Error;

/// Runs every check. Changes nothing on the host, except that missing images are pulled on request.
pub async fn run(questions: &Questions, looking: &Looking, ignored: &[String]) -> (Report, Vec<String>) {
    let facts = facts::read(questions, looking).await;
    tracing::debug!(?facts, "the host as it was seen");
    let mut report = preflight::check(questions, &facts);
    let unknown = report.ignore(ignored);
    (report, unknown)
}

/// The messages about names to ignore that no check has.
pub fn unknown(names: &[String]) -> Vec<String> {
    let message = |name: &String| format!("warning: no check is called {name}; nothing is ignored for it");
    names.iter().map(message).collect()
}

/// The messages about findings that do not stop the bootstrap.
pub fn warnings(report: &Report) -> Vec<String> {
    let is_obstacle = |finding: &&Finding| report.errors().any(|error| error == *finding);
    let message = |finding: &Finding| {
        let ignored = if finding.ignored { " (ignored)" } else { "" };
        format!("warning[{}]{ignored}: {}\nhint: {}", finding.check, finding.message, finding.hint)
    };
    report.findings.iter().filter(|finding| !is_obstacle(finding)).map(message).collect()
}

/// Fails if there are findings that stop the bootstrap.
///
/// # Errors
/// When there are some; their messages are its causes.
pub fn obstacles(report: &Report) -> Result<(), Error> {
    if report.is_clear() { Ok(()) } else { Err(failure(report.errors())) }
}

/// The report for programs.
pub fn json(report: &Report) -> Result<String, Error> {
    serde_json::to_string_pretty(report)
        .map_err(|error| Error::internal("the report cannot be written as JSON", &error))
}

fn failure<'a>(errors: impl Iterator<Item = &'a Finding>) -> Error {
    let errors: Vec<&Finding> = errors.collect();
    let names: Vec<&str> = errors.iter().map(|finding| finding.check.as_str()).collect();
    let message = format!("this host is not ready: {} of the checks failed; nothing was done", errors.len());
    let mut failure = Error::new(code::PREFLIGHT, message);
    for finding in &errors {
        failure = failure.cause(format!("{}: {} — {}", finding.check, finding.message, finding.hint));
    }
    failure.hint(format!(
        "mend these, or go on in spite of them with --ignore-preflight-errors {}",
        names.join(",")
    ))
}
