//! `slipway explain`

use std::process::ExitCode;

use slipway_spec::diagnostic::closest;

use crate::cli::ExplainArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Every error code with its page, from `docs/errors`.
const ERROR_PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

/// Explains a field of the spec, or an error code.
pub(crate) fn run(context: &Context, arguments: &ExplainArguments) -> Result<ExitCode, CommandError> {
    let subject = arguments.subject.trim();
    let text = match error_page(subject) {
        Some(page) => page.to_owned(),
        None if is_code(subject) => return Err(unknown_code(subject)),
        None => slipway_spec::explain(subject).map_err(|error| unknown_field(subject, &error.to_string()))?,
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of an error code, whatever its case.
fn error_page(code: &str) -> Option<&'static str> {
    ERROR_PAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code)).map(|(_, page)| *page)
}

/// Whether a text has the form of an error code: letters, then four digits.
fn is_code(text: &str) -> bool {
    let letters = text.trim_end_matches(|character: char| character.is_ascii_digit());
    let is_word = !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word && text.len() > letters.len()
}

fn unknown_field(path: &str, message: &str) -> CommandError {
    let error = CommandError::new(code::NO_FIELD, message);
    match path.contains('.') {
        true => error,
        false => error.hint("an error code has letters and digits, as in `slipway explain SPEC0042`"),
    }
}

fn unknown_code(code: &str) -> CommandError {
    let codes = ERROR_PAGES.iter().map(|(known, _)| *known);
    let meant = closest(&code.to_ascii_uppercase(), codes);
    let error = CommandError::new(code::NO_CODE, format!("there is no error code `{code}`"));
    match meant {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint("an error shows its code in brackets, as in `error[SPEC0042]`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_from_fields() {
        assert!(["SPEC0042", "spec0042", "CLI1"].into_iter().all(is_code));
        assert!(!["cluster.spec", "cluster", "0042", ""].into_iter().any(is_code));
        assert!(error_page("spec0042").is_some_and(|page| page.starts_with("# SPEC0042: ")));
    }
}
