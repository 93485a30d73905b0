//! `slipway explain`

use std::process::ExitCode;

use crate::cli::ExplainArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Explains a field of the spec.
pub(crate) fn run(context: &Context, arguments: &ExplainArguments) -> Result<ExitCode, CommandError> {
    let text = slipway_spec::explain(&arguments.path)
        .map_err(|error| CommandError::new("CLI0018", error.to_string()))?;
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}
