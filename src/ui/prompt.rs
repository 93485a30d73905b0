//! Questions to a person.

use std::io::BufRead;

use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Asks for a name before data is lost or another owner's object is taken.
pub(crate) fn confirm_by_name(context: &Context, question: &str, name: &str) -> Result<(), CommandError> {
    if !context.output.is_interactive() {
        return Err(CommandError::new(code::UNANSWERED, "no terminal to ask on; nothing was done")
            .hint(format!("`--confirm {name}` confirms it by name")));
    }
    context.output.notice(question);
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == name {
        return Ok(());
    }
    Err(CommandError::new(code::WRONG_NAME, format!("that is not `{name}`; nothing was done")))
}

/// Takes the name of the command line as the confirmation; without one, asks for it.
pub(crate) fn named(
    context: &Context,
    given: Option<&str>,
    (question, name): (&str, &str),
) -> Result<(), CommandError> {
    match given {
        Some(given) if given == name => Ok(()),
        Some(given) => Err(CommandError::new(
            code::WRONG_NAME,
            format!("`--confirm {given}` is not `{name}`; nothing was done"),
        )),
        None => confirm_by_name(context, question, name),
    }
}

/// Asks for a yes. Without a terminal, the command fails and does nothing.
pub(crate) fn confirm(context: &Context, question: &str) -> Result<(), CommandError> {
    if !context.output.is_interactive() {
        return Err(CommandError::new(code::UNANSWERED, "no terminal to ask on; nothing was done")
            .hint(format!("`--yes` answers the question `{question}`, without asking")));
    }
    context.output.notice(&format!("{question} Type `yes` to confirm:"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    Err(CommandError::new(code::DECLINED, "the answer was not `yes`; nothing was done")
        .hint("run the command again, and type `yes` to carry out the plan"))
}
