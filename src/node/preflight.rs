//! The checks before a bootstrap: they read the host and report all findings, and obstacles stop the
//! bootstrap.

use slipway_bootstrap::preflight::{self, Finding, Questions, Report};

use super::facts::{self, Looking};
use crate::cli::OutputFormat;
use crate::error::CommandError;
use crate::program::Context;

/// Runs every check. Changes nothing on the host, except that missing images are pulled on request.
pub(crate) async fn run(
    questions: &Questions,
    looking: &Looking,
    ignored: &[String],
) -> (Report, Vec<String>) {
    let facts = facts::read(questions, looking).await;
    tracing::debug!(?facts, "the host as it was seen");
    let mut report = preflight::check(questions, &facts);
    let unknown = report.ignore(ignored);
    (report, unknown)
}

/// Reports the findings, and fails if there are obstacles.
pub(crate) fn tell(
    context: &Context,
    (report, unknown): &(Report, Vec<String>),
    form: OutputFormat,
) -> Result<(), CommandError> {
    for name in unknown {
        context.output.message(&format!("warning: no check is called {name}; nothing is ignored for it"));
    }
    if form == OutputFormat::Json {
        if !report.is_clear() {
            context.output.result(&json(report)?)?;
        }
    } else {
        for finding in
            report.findings.iter().filter(|finding| !report.errors().any(|error| error == *finding))
        {
            let ignored = if finding.ignored { " (ignored)" } else { "" };
            context.output.message(&format!(
                "warning[{}]{ignored}: {}\nhint: {}",
                finding.check, finding.message, finding.hint
            ));
        }
    }
    match (report.is_clear(), form) {
        (true, _) => Ok(()),
        (false, OutputFormat::Json) => Err(failure(report.errors()).reported()),
        (false, _) => Err(failure(report.errors())),
    }
}

/// The report for programs.
pub(crate) fn json(report: &Report) -> Result<String, CommandError> {
    serde_json::to_string_pretty(report)
        .map_err(|error| CommandError::internal("the report cannot be written as JSON", &error))
}

fn failure<'a>(errors: impl Iterator<Item = &'a Finding>) -> CommandError {
    let errors: Vec<&Finding> = errors.collect();
    let names: Vec<&str> = errors.iter().map(|finding| finding.check.as_str()).collect();
    let message = format!("this host is not ready: {} of the checks failed; nothing was done", errors.len());
    let mut failure = CommandError::new("NODE0002", message);
    for finding in &errors {
        failure = failure.cause(format!("{}: {} — {}", finding.check, finding.message, finding.hint));
    }
    failure.hint(format!(
        "mend these, or go on in spite of them with --ignore-preflight-errors {}",
        names.join(",")
    ))
}
