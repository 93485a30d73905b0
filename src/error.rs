//! The one place where failures of the libraries become messages, hints and exit codes.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use slipway_limits::text::{shorten, visible};
use slipway_limits::{Exceeded, count, size};
use slipway_node_agent::api::ApiError;
use slipway_operations::{Declined, store_hint};
use slipway_resource::{ProviderError, with_causes};
use slipway_spec::diagnostic::{self, Diagnostic};
use slipway_trust::Refusal;

use crate::output::Output;

/// A failure as the user sees it.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: Option<&'static str>,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    /// Text that was complete before the failure, as all problems of a spec.
    details: Option<String>,
    /// Problems of the specs, for programs.
    problems: Vec<Diagnostic>,
    /// Whether standard output has a report about it already.
    is_reported: bool,
    quiet: bool,
}

impl CommandError {
    /// A failure with a code that has a page in `docs/errors/`.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code: Some(code),
            message,
            causes: Vec::new(),
            hints: Vec::new(),
            details: None,
            problems: Vec::new(),
            is_reported: false,
            quiet: false,
        }
    }

    /// A failure about a file.
    pub fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        let message = format!("{what} {} cannot be used", path.display());
        match Exceeded::of(error) {
            Some(exceeded) => {
                Self::new(exceeded.code(), message).cause(exceeded.to_string()).hint(exceeded.hint())
            }
            None => Self::new("CLI0001", message).cause(error.to_string()),
        }
    }

    /// A failure that should not be.
    pub fn internal(message: &str, error: &dyn Error) -> Self {
        Self::new("CLI0002", message).cause(error.to_string())
    }

    /// Nothing more to say: the reader of standard output has gone.
    pub fn broken_pipe() -> Self {
        Self { quiet: true, ..Self::new("CLI0001", "") }
    }

    /// Whether the reader of standard output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        self.quiet
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
        Self { problems: problems.clone(), ..Self::diagnostics(diagnostic::render_all(&problems), message) }
    }

    /// Arguments that are refused: the first part of what clap says about them.
    pub fn of_arguments(error: &clap::Error, hint: Option<&str>) -> Self {
        let text = error.to_string();
        let said = text.split("\n\n").next().unwrap_or_default();
        let said: Vec<&str> = said.trim_start_matches("error: ").lines().map(str::trim).collect();
        let failure = Self { code: None, ..Self::new("", said.join(" ")) };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Marks a failure whose report is part of the result.
    pub fn reported(self) -> Self {
        Self { is_reported: true, ..self }
    }

    /// The failure for programs: the problems of the specs in the form in which `slipway spec check` reports them, or one
    /// problem with causes and hints. `None` if the reader of standard output has a report, or has gone.
    pub fn for_programs(&self) -> Option<String> {
        if self.quiet || self.is_reported {
            return None;
        }
        serde_json::to_string_pretty(&json!({ "diagnostics": self.diagnostics_for_programs() })).ok()
    }

    /// The same on one line and with the name of the cluster, for commands that write one JSON document for each cluster.
    pub fn for_programs_about(&self, cluster: &str) -> Option<String> {
        if self.quiet || self.is_reported {
            return None;
        }
        Some(json!({ "cluster": cluster, "diagnostics": self.diagnostics_for_programs() }).to_string())
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

    /// Adds a cause.
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
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
        if !self.quiet {
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

    fn of(code: &'static str, error: &dyn Error, hint: Option<String>) -> Self {
        let mut failure = Self::new(code, error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if text != failure.message {
                failure.causes.push(text);
            }
            source = cause.source();
        }
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
        Self::of(error.code(), &error, store_hint(&error))
    }
}

impl From<slipway_secrets::Error> for CommandError {
    fn from(error: slipway_secrets::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<slipway_plan::Error> for CommandError {
    fn from(error: slipway_plan::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<slipway_engine::Error> for CommandError {
    fn from(error: slipway_engine::Error) -> Self {
        let hint = match &error {
            slipway_engine::Error::Store { source, .. } => {
                if let held @ slipway_state_store::Error::Held { .. } = &**source {
                    return Self::of(error.code(), held, store_hint(held));
                }
                store_hint(source)
            }
            _ => error.hint(),
        };
        let mut failure = Self::of(error.code(), &error, hint);
        if let slipway_engine::Error::Provider { source, .. } = &error {
            failure.causes.push(format!("class {}", source.class));
        }
        failure
    }
}

impl From<slipway_forges::Error> for CommandError {
    fn from(error: slipway_forges::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<slipway_reviews::Error> for CommandError {
    fn from(error: slipway_reviews::Error) -> Self {
        use slipway_reviews::Error as Failure;
        match error {
            Failure::Forge(error) => error.into(),
            Failure::Operation(error) => (*error).into(),
            Failure::Store(error) => error.into(),
            Failure::File { what, path, source } => Self::file(what, &path, &source),
            error => {
                let hint = error.hints().into_iter().next();
                Self::of(error.code().unwrap_or("FORGE0013"), &error, hint)
            }
        }
    }
}

impl From<slipway_reconciler::Error> for CommandError {
    fn from(error: slipway_reconciler::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<slipway_protocol::Error> for CommandError {
    fn from(error: slipway_protocol::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<slipway_operations::Error> for CommandError {
    fn from(error: slipway_operations::Error) -> Self {
        use slipway_operations::Error as Failure;
        match error {
            Failure::Specs(problems) => Self::of_specs(problems),
            Failure::Declined(declined) => declined.into(),
            Failure::Engine(error) => error.into(),
            error => Self {
                causes: error.causes(),
                hints: error.hints(),
                ..Self { code: error.code(), ..Self::new("", error.to_string()) }
            },
        }
    }
}

impl From<slipway_node_agent::Error> for CommandError {
    fn from(error: slipway_node_agent::Error) -> Self {
        use slipway_node_agent::Error as Failure;
        match error {
            Failure::Problem(problem) => Self {
                causes: problem.causes.iter().map(|cause| with_causes(&**cause)).collect(),
                hints: problem.hints,
                details: problem.details,
                ..Self { code: problem.code, ..Self::new("", problem.message) }
            },
            Failure::Store(error) => (*error).into(),
            Failure::Engine(error) => (*error).into(),
            Failure::Operation(error) => (*error).into(),
            Failure::Provider(error) => (*error).into(),
            Failure::Io(error) => error.into(),
            // The error of this program.
            Failure::Caller(error) => match error.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::internal("the plan of the machine cannot be carried out", &*other),
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
                Err(other) => Self::internal("nobody could decide", &*other),
            },
            declined => {
                let failure = Self { code: declined.code(), ..Self::new("", declined.to_string()) };
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

impl Error for CommandError {}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string()).hint(refusal.hint())
    }
}

impl From<ProviderError> for CommandError {
    fn from(error: ProviderError) -> Self {
        let mut failure =
            Self::new("PROVIDER0000", error.message.clone()).cause(format!("class {}", error.class));
        failure.hints.extend(error.hint);
        failure
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::broken_pipe();
        }
        Self::new("CLI0001", "input or output failed").cause(error.to_string())
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
}
