//! Why a condition has no result.

use cel::{ExecutionError, ParseErrors};
use slipway_limits::size::{EXPRESSION, MESSAGE};
use slipway_limits::text::shorten;

/// Why a condition has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text of the expression is too long.
    #[error("the expression is longer than {}", EXPRESSION)]
    TooLong,
    /// The text is no expression.
    #[error("the expression is not valid CEL: {0}")]
    Syntax(String),
    /// The expression uses a variable that does not exist.
    #[error("the expression uses the variable `{name}`, and has only {known}")]
    UnknownVariable {
        /// The name of the variable.
        name: String,
        /// The variables that exist.
        known: String,
    },
    /// A field does not exist, or a value has another type than the expression needs.
    #[error("the expression cannot be evaluated: {0}")]
    Evaluation(String),
    /// The result is not a boolean.
    #[error("the result of the expression is neither true nor false")]
    NotBoolean,
    /// The loops of the expression have too many steps.
    #[error("the loops of the expression have more than {most} steps")]
    TooManySteps {
        /// The largest number of steps.
        most: u64,
    },
    /// The expression makes values that are too large.
    #[error("the expression makes more than {most} MiB of values out of others")]
    TooLarge {
        /// The largest size, in MiB.
        most: usize,
    },
    /// The evaluation takes too long.
    #[error("the evaluation of the expression takes more than {seconds} seconds")]
    TooSlow {
        /// The longest time, in seconds.
        seconds: u64,
    },
    /// The system has no thread for the evaluation, or the interpreter failed.
    #[error("the interpreter of the expression failed")]
    Interpreter,
}

impl Error {
    /// The first error of a text that is no expression, on one line.
    pub(crate) fn syntax(errors: &ParseErrors) -> Self {
        let first = errors.errors.first().map_or_else(String::new, |error| match &error.source {
            Some(source) => source.to_string(),
            None => format!("{} (line {}, column {})", error.msg, error.pos.0, error.pos.1),
        });
        Self::Syntax(shorten(&first, MESSAGE).into_owned())
    }

    /// An error of the evaluation.
    pub(crate) fn evaluation(error: &ExecutionError) -> Self {
        let message = match error {
            ExecutionError::NoSuchKey(key) => format!("the field `{key}` does not exist"),
            ExecutionError::UndeclaredReference(name) => {
                format!("`{name}` is neither a function nor a variable")
            }
            other => other.to_string(),
        };
        Self::Evaluation(shorten(&message, MESSAGE).into_owned())
    }
}
