//! `slipway spec`

mod convert;

use std::process::ExitCode;

use serde_json::json;
use slipway_spec::diagnostic;

use crate::cli::{ReportFormat, SpecCheckArguments, SpecCommand, SpecShowArguments};
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};

/// Shows, checks or converts specs.
pub(crate) fn run(context: &Context, command: &SpecCommand) -> Result<ExitCode, CommandError> {
    match command {
        SpecCommand::Show(arguments) => show(context, arguments),
        SpecCommand::Check(arguments) => check(context, arguments),
        SpecCommand::Convert(arguments) => convert::run(context, arguments),
    }
}

fn show(context: &Context, arguments: &SpecShowArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection::from(&arguments.specs);
    let mut loaded = slipway_spec::Loaded::default();
    for wanted in specs::wanted(context, &selection)? {
        loaded.sources.insert(wanted.cluster.name.clone(), wanted.sources);
        loaded.clusters.push(wanted.cluster);
    }
    let text =
        if arguments.full { slipway_spec::full_yaml(&loaded) } else { slipway_spec::written_yaml(&loaded) };
    let text = text.map_err(|error| CommandError::internal("the spec cannot be shown", error))?;
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn check(context: &Context, arguments: &SpecCheckArguments) -> Result<ExitCode, CommandError> {
    let mut loaded = slipway_operations::load(&context.policy, &arguments.specs.files);
    if !context.output.shows_notes() {
        loaded.diagnostics.retain(|diagnostic| diagnostic.severity == diagnostic::Severity::Error);
    }
    match arguments.output {
        ReportFormat::Text => {
            let names: Vec<&str> = loaded.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
            if !loaded.diagnostics.is_empty() {
                context.output.result(&diagnostic::render_all(&loaded.diagnostics))?;
            } else {
                context.output.result(&format!("{}: no problems", names.join(", ")))?;
            }
        }
        ReportFormat::Json => {
            let text = serde_json::to_string_pretty(&json!({ "diagnostics": loaded.diagnostics }))
                .map_err(|error| CommandError::internal("the report cannot be written", error))?;
            context.output.result(&text)?;
        }
    }
    Ok(if loaded.is_valid() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
