//! `slipway node settings`

use std::process::ExitCode;

use slipway_node_agent::boot::agent;

use crate::error::CommandError;
use crate::program::Context;

/// Follows the settings of the machine's pool until the process is ended.
pub(super) async fn run(context: &Context) -> Result<ExitCode, CommandError> {
    agent::run(context).await?;
    Ok(ExitCode::SUCCESS)
}
