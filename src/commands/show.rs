//! `slipway show`

use std::process::ExitCode;

use crate::cli::ShowArguments;
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::ui;

/// Shows a saved plan.
pub(crate) async fn run(context: &Context, arguments: &ShowArguments) -> Result<ExitCode, CommandError> {
    ui::show::plan(context, &plan_source::read(context, &arguments.plan).await?, &arguments.show)?;
    Ok(ExitCode::SUCCESS)
}
