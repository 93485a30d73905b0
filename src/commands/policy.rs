//! `slipway policy`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value as Json;
use slipway_limits::{file, size};
use slipway_operations::policies::Violation;

use super::done;
use crate::cli::policy::{PolicyCommand, PolicyTestArguments};
use crate::code;
use crate::error::CommandError;
use crate::policies;
use crate::program::Context;

/// Tests policies.
pub(crate) fn run(context: &Context, command: &PolicyCommand) -> Result<ExitCode, CommandError> {
    let PolicyCommand::Test(PolicyTestArguments { files, plan }) = command;
    match plan {
        Some(plan) => check(context, files, plan),
        None => test(context, files),
    }
}

/// Runs the tests of files, and prints a line for each of them.
fn test(context: &Context, files: &[PathBuf]) -> Result<ExitCode, CommandError> {
    let (mut lines, mut failed) = (Vec::new(), 0_usize);
    for path in files {
        let read = policies::read(path)?;
        for test in &read.tests {
            match test.failure(&read.policies) {
                None => lines.push(format!("ok      {}", test.name)),
                Some(wrong) => {
                    failed += 1;
                    lines.push(format!("failed  {}: {wrong}", test.name));
                }
            }
        }
    }
    let passed = lines.len() - failed;
    lines.push(format!("{passed} passed, {failed} failed"));
    context.output.result(&lines.join("\n"))?;
    Ok(done(failed == 0))
}

/// Checks a plan with the policies of files, and prints the policies that it does not satisfy.
fn check(context: &Context, files: &[PathBuf], plan: &Path) -> Result<ExitCode, CommandError> {
    let policies = policies::all(files)?;
    let text = file::read_given_text(plan, size::PLAN)
        .map_err(|error| CommandError::file("the plan", plan, error))?;
    let document: Json = serde_json::from_str(&text).map_err(|error| {
        CommandError::new(code::POLICY_FILE, format!("{} is not a plan in JSON", plan.display()))
            .cause(error)
            .hint("write the plan with `slipway plan -o json` or `slipway show PLANFILE -o json`")
    })?;
    let judged = policies.judge(&document);
    let line = |what: &'static str| {
        move |Violation { policy, message }: &Violation| format!("{what}  {policy}: {message}")
    };
    let mut lines: Vec<String> = judged.denied.iter().map(line("denied")).collect();
    lines.extend(judged.warned.iter().map(line("warned")));
    if lines.is_empty() {
        lines.push("The plan satisfies all policies.".to_owned());
    }
    context.output.result(&lines.join("\n"))?;
    Ok(done(judged.denied.is_empty()))
}
