//! `slipway completions` and `slipway man`

use std::process::ExitCode;

use clap_complete::Shell;

use crate::cli::{CompletionsArguments, ManArguments, command};
use crate::error::CommandError;
use crate::program::Context;

/// Writes a completion script to standard output.
pub(crate) fn completions(
    context: &Context,
    arguments: &CompletionsArguments,
) -> Result<ExitCode, CommandError> {
    let script = match arguments.shell {
        Shell::Bash => include_str!("documentation/slipway.bash").to_owned(),
        Shell::Zsh => include_str!("documentation/slipway.zsh").to_owned(),
        Shell::Fish => include_str!("documentation/slipway.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut command(), "slipway", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    context.output.result(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for each command.
pub(crate) fn man(context: &Context, arguments: &ManArguments) -> Result<ExitCode, CommandError> {
    let directory = &arguments.directory;
    let fail = |error: std::io::Error| CommandError::file("the folder", directory, error);
    std::fs::create_dir_all(directory).map_err(fail)?;
    clap_mangen::generate_to(command(), directory).map_err(fail)?;
    context.output.message(&format!("The manual pages are in {}.", directory.display()));
    Ok(ExitCode::SUCCESS)
}
