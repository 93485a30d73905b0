//! The one place where failures of the libraries become messages, hints and exit codes.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use slipway_limits::text::{shorten, visible};
use slipway_limits::{Exceeded, count, size};
use slipway_node_agent::Problem;
use slipway_node_agent::api::ApiError;
use slipway_operations::{Declined, store_hint};
use slipway_resource::ProviderError;
use slipway_spec::diagnostic::{self, Diagnostic};
use slipway_trust::Refusal;

use crate::code;
use crate::output::Output;

/// The cause of a failure: an error of a library, or a sentence.
type Cause = Box<dyn Error + Send + Sync>;

/// How a command failed. Its exit code and what is written about it follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The arguments cannot be used.
    Usage,
    /// The specs, the trust policy or a person refuse; nothing was done.
    Refused,
    /// Something does not work, or only a part was done.
    Failed,
    /// The result of the command says that it failed.
    Reported,
    /// The reader of standard output has gone: nothing can be printed.
    ReaderGone,
}

/// A failure as the user sees it.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    code: Option<&'static str>,
    message: String,
    /// The messages of what caused it, the nearest first.
    causes: Vec<String>,
    /// The first error that caused it, as the library returned it.
    source: Option<Cause>,
    hints: Vec<String>,
    /// Text that was complete before the failure, as all problems of a spec.
    details: Option<String>,
    /// Problems of the specs, for programs.
    problems: Vec<Diagnostic>,
}

impl CommandError {
    /// A failure with a code that has a page in `docs/errors/`.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind: Kind::Failed,
            code: Some(code),
            message,
            causes: Vec::new(),
            source: None,
            hints: Vec::new(),
            details: None,
            problems: Vec::new(),
        }
    }

    /// A failure about a file.
    pub fn file(what: &str, path: &Path, error: std::io::Error) -> Self {
        let message = format!("{what} {} cannot be used", path.display());
        let failure = match Exceeded::of(&error) {
            Some(exceeded) => Self::new(exceeded.code(), message).hint(exceeded.hint()),
            None => Self::new(code::FILE, message),
        };
        failure.cause(error)
    }

    /// A failure that should not be.
    pub fn internal(message: &str, cause: impl Into<Cause>) -> Self {
        Self::new(code::INTERNAL, message).cause(cause)
    }

    /// Nothing more to say: the reader of standard output has gone.
    pub fn broken_pipe() -> Self {
        Self { kind: Kind::ReaderGone, ..Self::new(code::FILE, "") }
    }

    /// The exit code of a command that fails in this way: 1, whatever the kind. A plan with changes ends with 2.
    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Usage | Kind::Refused | Kind::Failed | Kind::Reported | Kind::ReaderGone => {
                ExitCode::from(1)
            }
        }
    }

    /// Whether the reader of standard output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::ReaderGone
    }

    /// Problems of a spec, each complete in itself.
    pub fn diagnostics(text: String, message: String) -> Self {
        Self { code: None, details: Some(text), ..Self::new("", message) }
    }

    /// Problems of the specs, of which nothing was planned.
    pub fn of_specs(problems: Vec<Diagnostic>) -> Self {
        let errors = diagnostic::count(&problems).errors;
        let count = if errors == 1 { "1 problem".to_owned() } else { format!("{errors} problems") };
        let message = format!("the specs have {count}; nothing was done");
        let text = diagnostic::render_all(&problems);
        Self { kind: Kind::Refused, problems, ..Self::diagnostics(text, message) }
    }

    /// Arguments that are refused: the first part of what clap says about them.
    pub fn of_arguments(error: &clap::Error, hint: Option<&str>) -> Self {
        let text = error.to_string();
        let said = text.split("\n\n").next().unwrap_or_default();
        let said: Vec<&str> = said.trim_start_matches("error: ").lines().map(str::trim).collect();
        let failure = Self { kind: Kind::Usage, code: None, ..Self::new("", said.join(" ")) };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Marks a failure whose report is part of the result.
    pub fn reported(self) -> Self {
        Self { kind: Kind::Reported, ..self }
    }

    /// The failure for programs: the problems of the specs in the form in which `slipway spec check` reports them, or one
    /// problem with causes and hints. `None` if the reader of standard output has a report, or has gone.
    pub fn for_programs(&self) -> Option<String> {
        if self.is_told() {
            return None;
        }
        serde_json::to_string_pretty(&json!({ "diagnostics": self.diagnostics_for_programs() })).ok()
    }

    /// The same on one line and with the name of the cluster, for commands that write one JSON document for each cluster.
    pub fn for_programs_about(&self, cluster: &str) -> Option<String> {
        if self.is_told() {
            return None;
        }
        Some(json!({ "cluster": cluster, "diagnostics": self.diagnostics_for_programs() }).to_string())
    }

    /// Whether standard output has a report about it, or no reader.
    fn is_told(&self) -> bool {
        matches!(self.kind, Kind::Reported | Kind::ReaderGone)
    }

    fn diagnostics_for_programs(&self) -> serde_json::Value {
        match self.problems.as_slice() {
            [] => json!([{
                "code": self.code,
                "severity": diagnostic::Severity::Error,
                "message": shorten(&self.message, size::MESSAGE),
                "causes": bounded(&self.causes),
                "hints": bounded(&self.hints),
            }]),
            problems => json!(problems),
        }
    }

    /// The code of its page in `docs/errors/`, where it has one.
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// The error in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Adds a cause with its own causes: an error of a library, or a sentence. A message that repeats the one before is left
    /// out. The first cause is kept as the source.
    pub fn cause(mut self, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        let first: &(dyn Error + 'static) = &*cause;
        let mut next = Some(first);
        while let Some(error) = next {
            let text = error.to_string();
            if text != self.message && self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            next = error.source();
        }
        if self.source.is_none() {
            self.source = Some(cause);
        }
        self
    }

    /// Adds a hint, unless it is present already.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    /// Prints it to standard error.
    pub fn report(&self, output: &Output) {
        if !self.is_broken_pipe() {
            output.notice(&self.text(&output.style_error("error"), &output.style_hint("hint")));
        }
    }

    /// Its text without colours.
    #[cfg(test)]
    pub fn plain(&self) -> String {
        self.text("error", "hint")
    }

    fn text(&self, error: &str, hint_word: &str) -> String {
        let mut text = String::new();
        if let Some(details) = &self.details {
            text.push_str(details);
            text.push('\n');
        }
        let code = self.code.map(|code| format!("[{code}]")).unwrap_or_default();
        // A text of a provider or a host may be of any length, and may contain control characters.
        let theirs = |text: &str| visible(&shorten(text, size::MESSAGE)).into_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{error}{code}: {}", theirs(&self.message));
        for cause in self.causes.iter().take(count::CAUSES) {
            let _ = writeln!(text, "  caused by: {}", theirs(cause));
        }
        if let Some(more @ 1..) = self.causes.len().checked_sub(count::CAUSES) {
            let _ = writeln!(text, "  and {more} more causes");
        }
        for hint in self.hints.iter().take(count::CAUSES) {
            let _ = writeln!(text, "{hint_word}: {}", theirs(hint));
        }
        text
    }

    /// An error of a library that says all in its message, with its causes.
    fn of(code: &'static str, error: impl Error + Send + Sync + 'static, hint: Option<String>) -> Self {
        let mut failure = Self::new(code, error.to_string()).cause(error);
        failure.hints.extend(hint);
        failure
    }
}

/// As many texts as an error shows, each as long as an error shows it.
fn bounded(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().take(count::CAUSES).map(|text| shorten(text, size::MESSAGE)).collect()
}

impl From<slipway_state_store::Error> for CommandError {
    fn from(error: slipway_state_store::Error) -> Self {
        let (code, hint) = (error.code(), store_hint(&error));
        Self::of(code, error, hint)
    }
}

impl From<slipway_secrets::Error> for CommandError {
    fn from(error: slipway_secrets::Error) -> Self {
        let (code, hint) = (error.code(), error.hint());
        Self::of(code, error, hint)
    }
}

impl From<slipway_plan::Error> for CommandError {
    fn from(error: slipway_plan::Error) -> Self {
        let (code, hint) = (error.code(), error.hint());
        Self::of(code, error, hint)
    }
}

impl From<slipway_engine::Error> for CommandError {
    fn from(error: slipway_engine::Error) -> Self {
        use slipway_engine::Error as Failure;
        let code = error.code();
        match error {
            Failure::Store { source, .. } if matches!(*source, slipway_state_store::Error::Held { .. }) => {
                let hint = store_hint(&source);
                Self::of(code, *source, hint)
            }
            error => {
                let hint = match &error {
                    Failure::Store { source, .. } => store_hint(source),
                    _ => error.hint(),
                };
                let class = match &error {
                    Failure::Provider { source, .. } => Some(format!("class {}", source.class)),
                    _ => None,
                };
                let mut failure = Self::of(code, error, hint);
                failure.causes.extend(class);
                failure
            }
        }
    }
}

impl From<slipway_forges::Error> for CommandError {
    fn from(error: slipway_forges::Error) -> Self {
        let (code, hint) = (error.code(), error.hint());
        Self::of(code, error, hint)
    }
}

impl From<slipway_reviews::Error> for CommandError {
    fn from(error: slipway_reviews::Error) -> Self {
        use slipway_reviews::Error as Failure;
        match error {
            Failure::Forge(error) => error.into(),
            Failure::Operation(error) => (*error).into(),
            Failure::Store(error) => error.into(),
            Failure::File { what, path, source } => Self::file(what, &path, source),
            error => {
                let (code, hint) = (error.code(), error.hints().into_iter().next());
                Self::of(code.unwrap_or(slipway_reviews::REPOSITORY), error, hint)
            }
        }
    }
}

impl From<slipway_reconciler::Error> for CommandError {
    fn from(error: slipway_reconciler::Error) -> Self {
        let (code, hint) = (error.code(), error.hint());
        Self::of(code, error, hint)
    }
}

impl From<slipway_protocol::Error> for CommandError {
    fn from(error: slipway_protocol::Error) -> Self {
        let (code, hint) = (error.code(), error.hint());
        Self::of(code, error, hint)
    }
}

impl From<slipway_operations::Error> for CommandError {
    fn from(error: slipway_operations::Error) -> Self {
        use slipway_operations::Error as Failure;
        let message = error.to_string();
        match error {
            Failure::Specs(problems) => Self::of_specs(problems),
            Failure::Declined(declined) => declined.into(),
            Failure::Engine(error) => error.into(),
            error => Self {
                code: error.code(),
                causes: error.causes(),
                hints: error.hints(),
                ..Self { source: Some(Box::new(error)), ..Self::new("", message) }
            },
        }
    }
}

impl From<slipway_node_agent::Error> for CommandError {
    fn from(error: slipway_node_agent::Error) -> Self {
        use slipway_node_agent::Error as Failure;
        match error {
            Failure::Problem(problem) => {
                let Problem { code, message, causes, hints, details } = *problem;
                let failure = Self { code, hints, details, ..Self::new("", message) };
                causes.into_iter().fold(failure, |failure, cause| failure.cause(cause))
            }
            Failure::Store(error) => (*error).into(),
            Failure::Engine(error) => (*error).into(),
            Failure::Operation(error) => (*error).into(),
            Failure::Provider(error) => (*error).into(),
            Failure::Io(error) => error.into(),
            // The error of this program.
            Failure::Caller(error) => match error.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::internal("the plan of the machine cannot be carried out", other),
            },
        }
    }
}

impl From<ApiError> for CommandError {
    fn from(error: ApiError) -> Self {
        slipway_node_agent::Error::from(error).into()
    }
}

impl From<Declined> for CommandError {
    fn from(declined: Declined) -> Self {
        match declined {
            // The callback of this program failed.
            Declined::Failed(error) => match error.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::internal("nobody could decide", other),
            },
            declined => {
                let (code, message) = (declined.code(), declined.to_string());
                let failure = Self { kind: Kind::Refused, code, ..Self::new("", message) };
                match declined {
                    Declined::Unanswered { hint } => failure.hint(hint),
                    _ => failure,
                }
            }
        }
    }
}

/// Lets a callback that decides about a plan return a command error, and get it back unchanged.
impl From<CommandError> for Declined {
    fn from(error: CommandError) -> Self {
        Self::failed(error)
    }
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let failure = Self::new(refusal.code(), refusal.to_string()).hint(refusal.hint());
        Self { kind: Kind::Refused, source: Some(Box::new(refusal)), ..failure }
    }
}

impl From<ProviderError> for CommandError {
    fn from(error: ProviderError) -> Self {
        let mut failure = Self::new(code::PROVIDER, error.message.clone());
        failure.causes.push(format!("class {}", error.class));
        failure.hints.extend(error.hint.clone());
        failure.source = Some(Box::new(error));
        failure
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::broken_pipe();
        }
        Self::new(code::FILE, "input or output failed").cause(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_out_is_told_once() {
        let error = CommandError::new("CLI0013", "it cannot work").hint("ask for more").hint("ask for more");
        assert_eq!(error.hints, ["ask for more"]);
    }

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("the outer part")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn every_cause_of_an_error_is_shown_once_and_the_first_is_kept() {
        let inner = std::io::Error::other("the inner part");
        let error = CommandError::new("CLI0013", "it cannot work").cause(Outer(inner));
        assert_eq!(error.causes, ["the outer part", "the inner part"]);
        assert!(error.source().is_some_and(|source| source.is::<Outer>()));
        let repeated = CommandError::of("CLI0013", std::io::Error::other("the same"), None);
        assert_eq!(repeated.message(), "the same");
        assert!(repeated.causes.is_empty(), "{:?}", repeated.causes);
    }

    #[test]
    fn only_a_failure_that_nobody_knows_is_written_for_programs() {
        let error = || CommandError::new("CLI0013", "it cannot work");
        assert!(error().for_programs().is_some());
        assert!(error().reported().for_programs().is_none());
        assert!(CommandError::broken_pipe().for_programs().is_none());
        assert_eq!(error().exit_code(), ExitCode::from(1));
    }
}
