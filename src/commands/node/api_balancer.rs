//! `slipway node api-balancer`

use std::process::ExitCode;

use slipway_provider_node::serve_api_balancer;

use crate::cli::node::ApiBalancerArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Forwards connections to API servers until it is ended, or until another process has to go on.
pub(super) async fn run(
    context: &Context,
    arguments: &ApiBalancerArguments,
) -> Result<ExitCode, CommandError> {
    let output = &context.output;
    let tell = |text: &str| output.message(text);
    serve_api_balancer(&arguments.config, &tell).await.map_err(|error| {
        CommandError::new("BAL0001", "the API servers are not reached through this machine")
            .cause(error.message)
            .hint(
                "`ss -ltnp` shows the program that uses the port; `slipway apply` writes the settings again",
            )
    })?;
    Ok(ExitCode::SUCCESS)
}
