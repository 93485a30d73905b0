//! `slipway node settings`

use std::process::ExitCode;

use crate::error::CommandError;
use crate::node::boot::agent;
use crate::program::Context;

/// Follows the settings of the machine's pool until the process is ended.
pub(super) async fn run(context: &Context) -> Result<ExitCode, CommandError> {
    agent::run(context).await
}
