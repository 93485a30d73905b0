//! `slipway show`

use std::process::ExitCode;

use super::apply::read;
use crate::cli::ShowArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// Shows a saved plan.
pub(crate) fn run(context: &Context, arguments: &ShowArguments) -> Result<ExitCode, CommandError> {
    ui::show::plan(context, &read(&arguments.plan)?, &arguments.show)?;
    Ok(ExitCode::SUCCESS)
}
