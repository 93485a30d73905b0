//! `slipway node control-plane-recovery`

use std::process::ExitCode;

use slipway_provider_node::serve_control_plane_recovery;

use crate::cli::node::ControlPlaneRecoveryArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Looks after the self-hosted control plane until it is ended, or until another process has to go on.
pub(super) async fn run(
    context: &Context,
    arguments: &ControlPlaneRecoveryArguments,
) -> Result<ExitCode, CommandError> {
    let output = &context.output;
    let tell = |text: &str| output.message(text);
    serve_control_plane_recovery(&arguments.config, &tell).await.map_err(|error| {
        CommandError::new("NODE0026", "the control plane of this machine is not looked after")
            .cause(error.message)
            .hint("`slipway apply` writes the settings again")
    })?;
    Ok(ExitCode::SUCCESS)
}
