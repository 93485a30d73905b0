//! `slipway state`: one file for each group of verbs.

mod archive;
mod collect;
mod compare;
mod history;
mod initialise;
mod lease;
mod list;
mod rebuild;
mod records;
mod rekey;
mod verify;

use std::process::ExitCode;

use crate::cli::state::StateCommand;
use crate::error::CommandError;
use crate::program::Context;

/// Runs a verb.
pub(crate) async fn run(context: &Context, command: StateCommand) -> Result<ExitCode, CommandError> {
    match command {
        StateCommand::Init(arguments) => initialise::run(context, &arguments).await,
        StateCommand::List(arguments) => list::list(context, &arguments).await,
        StateCommand::Show(arguments) => list::show(context, &arguments).await,
        StateCommand::History(arguments) => history::run(context, &arguments).await,
        StateCommand::Diff(arguments) => compare::run(context, &arguments).await,
        StateCommand::Mv(arguments) => records::rename(context, &arguments).await,
        StateCommand::Rm(arguments) => records::forget(context, &arguments).await,
        StateCommand::Export(arguments) => archive::export(context, &arguments).await,
        StateCommand::Import(arguments) => archive::import(context, &arguments).await,
        StateCommand::Rebuild(arguments) => rebuild::run(context, &arguments).await,
        StateCommand::BreakLease(arguments) => lease::run(context, &arguments).await,
        StateCommand::Gc(arguments) => collect::run(context, &arguments).await,
        StateCommand::Rekey(arguments) => rekey::run(context, &arguments).await,
        StateCommand::Verify(arguments) => verify::run(context, &arguments).await,
    }
}

/// JSON for programs, with a line end.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, CommandError> {
    serde_json::to_string_pretty(value)
        .map_err(|error| CommandError::internal("the answer cannot be written as JSON", error))
}

/// A line that names objects which no available key decrypts; nothing if there are none. `what` is what was not done with them.
pub(super) fn passed_over(what: &str, keys: &[impl std::fmt::Display]) -> String {
    const NAMED: usize = 3;
    if keys.is_empty() {
        return String::new();
    }
    let named: Vec<String> = keys.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match keys.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{what}, because no available key decrypts it: {}{more}. It stays in the store.\n",
        named.join(", ")
    )
}

/// A moment as a person reads it: whole seconds, in UTC.
pub(super) fn moment(when: jiff::Timestamp) -> String {
    format!("{when:.0}")
}
