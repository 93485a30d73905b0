//! `slipway node phase`

use std::process::ExitCode;

use slipway_bootstrap::phase::{self, Command, Phase};

use super::{begin, reset};
use crate::cli::node::{JoinSettings, NodeJoinArguments, PhaseCommand, PhaseJoinArguments};
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Carries out one phase, or lists them.
pub(super) async fn run(context: &Context, command: PhaseCommand) -> Result<ExitCode, CommandError> {
    match command {
        PhaseCommand::Init(arguments) => {
            let Some(only) = chosen(context, Command::Init, &arguments.phase)? else {
                return Ok(ExitCode::SUCCESS);
            };
            begin::init(context, &arguments.arguments, Some(&only)).await
        }
        PhaseCommand::Join(arguments) => {
            let Some(only) = chosen(context, Command::Join, &arguments.phase)? else {
                return Ok(ExitCode::SUCCESS);
            };
            begin::join(context, &join_arguments(arguments), Some(&only)).await
        }
        PhaseCommand::Reset(arguments) => {
            let Some(only) = chosen(context, Command::Reset, &arguments.phase)? else {
                return Ok(ExitCode::SUCCESS);
            };
            reset::run(context, &arguments.arguments, Some(&only)).await
        }
    }
}

/// The phase that is meant. Without one, all are listed.
fn chosen(context: &Context, command: Command, words: &[String]) -> Result<Option<String>, CommandError> {
    if words.is_empty() {
        let mut text = String::new();
        list(&mut text, phase::tree(command), 0);
        context.output.result(&text)?;
        return Ok(None);
    }
    let written = words.join("/");
    if let Some(path) = phase::resolve(command, &written) {
        return Ok(Some(path));
    }
    let error = CommandError::new(code::NO_PHASE, format!("there is no phase `{written}`"));
    let list = "the same command without a phase lists all of them";
    Err(match phase::meant(command, &written) {
        Some(meant) => error.hint(format!("did you mean `{meant}`? {list}")),
        None => error.hint(list),
    })
}

fn list(text: &mut String, phases: &[Phase], depth: usize) {
    for phase in phases.iter().filter(|phase| !phase.hidden) {
        let name = format!(
            "{}{}",
            "  ".repeat(depth),
            if depth == 0 { phase.name.to_owned() } else { format!("/{}", phase.name) }
        );
        text.push_str(&format!("{name:<34}{}\n", phase.description));
        list(text, phase.parts, depth + 1);
    }
}

fn join_arguments(arguments: PhaseJoinArguments) -> NodeJoinArguments {
    let settings = arguments.arguments;
    NodeJoinArguments {
        source: settings.source,
        settings: JoinSettings { api_server: arguments.api_server, options: settings.settings },
        carry_out: settings.carry_out,
        machine: settings.machine,
    }
}
