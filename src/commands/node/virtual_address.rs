//! `slipway node virtual-address`

use std::process::ExitCode;

use slipway_provider_node::serve_virtual_address;

use crate::cli::node::VirtualAddressArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Takes part in the election for the virtual address until it is ended, or until another process has to go on.
pub(super) async fn run(
    context: &Context,
    arguments: &VirtualAddressArguments,
) -> Result<ExitCode, CommandError> {
    let output = &context.output;
    let tell = |text: &str| output.message(text);
    serve_virtual_address(&arguments.config, &tell).await.map_err(|error| {
        CommandError::new("VIP0001", "this machine cannot have the virtual address of the API")
            .cause(error.message)
            .hint("`ip address` shows the interfaces; `slipway apply` writes the settings again")
    })?;
    Ok(ExitCode::SUCCESS)
}
