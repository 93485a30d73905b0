//! Whether somebody agrees to a plan: with a yes, and by name to what it loses.

use std::collections::BTreeSet;

use slipway_plan::{Confirmation, Plan};

use crate::cli::RunArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// The names that confirm losses, as they were given to `--confirm` or typed.
pub(crate) type Names = BTreeSet<String>;

/// Refuses a plan that loses what nobody named, where nobody is asked for names: `--yes` is an answer to the question
/// whether the plan is carried out, and no name.
pub(crate) fn check(context: &Context, plan: &Plan, arguments: &RunArguments) -> Result<(), CommandError> {
    let missing = plan.unconfirmed(&given(arguments));
    if missing.is_empty() || (!arguments.yes && context.output.is_interactive()) {
        return Ok(());
    }
    let mut error = CommandError::new("RUN0008", "the plan needs confirmations by name; nothing was done");
    for loss in missing.iter().flat_map(|confirmation| &confirmation.losses) {
        error = error.cause(format!("{}: {}", loss.address, loss.reason));
    }
    let flags: Vec<String> = missing.iter().map(|missing| format!("--confirm {}", missing.name)).collect();
    Err(error.hint(format!("to lose them, say so: {}", flags.join(" "))))
}

/// Asks for the names that are missing, or where none is, for a yes. Returns all names that were given.
pub(crate) fn ask(context: &Context, plan: &Plan, arguments: &RunArguments) -> Result<Names, CommandError> {
    check(context, plan, arguments)?;
    let mut names = given(arguments);
    let missing = plan.unconfirmed(&names);
    if missing.is_empty() {
        if !arguments.yes {
            ui::prompt::confirm(context, "Carry this plan out?")?;
        }
        return Ok(names);
    }
    for Confirmation { name, losses } in missing {
        let what = match losses.as_slice() {
            [loss] => format!("This plan loses {} ({}).", loss.address, loss.reason),
            losses => format!("This plan loses {} resources with their data.", losses.len()),
        };
        ui::prompt::confirm_by_name(context, &format!("{what} To carry it out, type `{name}`:"), &name)?;
        names.insert(name);
    }
    Ok(names)
}

fn given(arguments: &RunArguments) -> Names {
    arguments.confirm.iter().cloned().collect()
}
