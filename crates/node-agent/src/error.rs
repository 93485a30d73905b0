//! Why something does not happen on the machine.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;

use slipway_limits::Exceeded;
use slipway_resource::ProviderError;

use crate::code;

/// The cause of a problem: an error of a library, or a sentence.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Why something does not happen on the machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A problem that the agent has found.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// A state store refused.
    #[error(transparent)]
    Store(Box<slipway_state_store::Error>),
    /// A state cannot be read.
    #[error(transparent)]
    Engine(Box<slipway_engine::Error>),
    /// An operation failed.
    #[error(transparent)]
    Operation(Box<slipway_operations::Error>),
    /// A provider refused.
    #[error("{}", .0.message)]
    Provider(Box<ProviderError>),
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The caller could not carry a plan out. It gets its own error back.
    #[error(transparent)]
    Caller(Cause),
}

/// A problem, with what a person needs to know about it.
#[derive(Debug)]
pub struct Problem {
    /// The code of its page in `docs/errors/`; `None` where the problems of a document have codes of their own.
    pub code: Option<&'static str>,
    /// The problem in one sentence.
    pub message: String,
    /// What caused it.
    pub causes: Vec<Cause>,
    /// Commands and edits that may help.
    pub hints: Vec<String>,
    /// All problems of a document, each complete in itself.
    pub details: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl StdError for Problem {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.causes.first().map(|cause| &**cause as &(dyn StdError + 'static))
    }
}

impl Error {
    /// A problem with a code that has a page in `docs/errors/`.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(Some(code), message.into())
    }

    fn of(code: Option<&'static str>, message: String) -> Self {
        let (causes, hints) = (Vec::new(), Vec::new());
        Self::Problem(Box::new(Problem { code, message, causes, hints, details: None }))
    }

    /// A problem with a file.
    pub fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        let message = format!("{what} {} cannot be used", path.display());
        match Exceeded::of(error) {
            Some(exceeded) => {
                Self::new(exceeded.code(), message).cause(exceeded.to_string()).hint(exceeded.hint())
            }
            None => Self::new(slipway_operations::code::FILE, message).cause(error.to_string()),
        }
    }

    /// A problem that should not be.
    pub fn internal(message: &str, error: &dyn StdError) -> Self {
        Self::new(slipway_operations::code::INTERNAL, message).cause(error.to_string())
    }

    /// An option or a field of the documents has a value that cannot be used.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(code::SETTING, message)
    }

    /// A setting is required, and neither an option nor a document has it.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(code::MISSING_SETTING, message)
    }

    /// Problems of a document, each complete in itself.
    pub fn diagnostics(text: String, message: String) -> Self {
        Self::of(None, message).with(|problem| problem.details = Some(text))
    }

    /// Adds a cause. An error of a library has its own causes and is left unchanged.
    #[must_use]
    pub fn cause(self, cause: impl Into<Cause>) -> Self {
        self.with(|problem| problem.causes.push(cause.into()))
    }

    /// Adds a hint. An error of a library has its own hints and is left unchanged.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with(|problem| problem.hints.push(hint.into()))
    }

    fn with(mut self, change: impl FnOnce(&mut Problem)) -> Self {
        if let Self::Problem(problem) = &mut self {
            change(problem);
        }
        self
    }
}

impl From<slipway_state_store::Error> for Error {
    fn from(error: slipway_state_store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<slipway_engine::Error> for Error {
    fn from(error: slipway_engine::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<slipway_operations::Error> for Error {
    fn from(error: slipway_operations::Error) -> Self {
        Self::Operation(Box::new(error))
    }
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        Self::Provider(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::ErrorClass;

    use super::*;

    #[test]
    fn a_problem_keeps_its_first_cause_as_source_and_an_error_of_a_library_its_own_hints() {
        let problem = Error::new("NODE0018", "it cannot go on").cause("one").cause("two").hint("wait");
        assert_eq!(problem.to_string(), "it cannot go on");
        let source = StdError::source(&problem).map(|source| source.to_string());
        assert_eq!(source.as_deref(), Some("one"));
        let refused = ProviderError::new(ErrorClass::Conflict, "it is in use");
        let Error::Provider(refused) = Error::from(refused).hint("wait") else { panic!() };
        assert_eq!(refused.message, "it is in use");
        assert!(refused.hint.is_none());
    }
}
