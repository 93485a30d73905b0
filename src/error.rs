//! The one place where failures of the libraries become messages, hints and exit codes.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use slipway_limits::text::{shorten, visible};
use slipway_limits::{Exceeded, count, file, size};
use slipway_resource::ProviderError;
use slipway_spec::diagnostic::{self, Code, Diagnostic};
use slipway_spec::source::{Location, SourceFile};

use crate::output::Output;

/// A failure of a provider that was asked outside of a plan's steps.
const PROVIDER: Code = Code { id: "PROVIDER0000", title: "the provider reports a failure" };

/// A provider's configuration that does not fit its schema.
const CONFIGURATION: Code =
    Code { id: "CLI0007", title: "the configuration of the provider is not as its schema says" };

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

    /// What a provider has against a field of a spec, at its place.
    pub fn at_field(error: &ProviderError, location: &Location) -> Self {
        let problem = Diagnostic::error(PROVIDER, error.message.clone())
            .at_location(Some(location))
            .maybe_hint(error.hint.clone());
        Self::of_specs(vec![with_line(problem)])
    }

    /// What is wrong with the configuration of a provider: each problem with its place and its way out.
    pub fn of_configuration(
        provider: &str,
        problems: Vec<(String, Option<Location>, Option<String>)>,
    ) -> Self {
        let lists = format!("`slipway provider info {provider}` lists its settings");
        let problem = |(message, location, hint): (String, Option<Location>, Option<String>)| {
            let hint = hint.unwrap_or_else(|| lists.clone());
            with_line(Diagnostic::error(CONFIGURATION, message).at_location(location.as_ref()).hint(hint))
        };
        Self::of_specs(problems.into_iter().map(problem).collect())
    }

    /// The problems of the specs for programs, in the form in which `slipway spec check` reports them; `None` of another
    /// failure.
    pub fn problems(&self) -> Option<String> {
        if self.problems.is_empty() {
            return None;
        }
        serde_json::to_string_pretty(&serde_json::json!({ "diagnostics": self.problems })).ok()
    }

    /// What went wrong, in a sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same failure with what stands behind it.
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// The same failure with a way out; one that was told already is not told again.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    /// Prints it to standard error.
    pub fn report(&self, output: &Output) {
        if self.quiet {
            return;
        }
        let mut text = String::new();
        if let Some(details) = &self.details {
            text.push_str(details);
            text.push('\n');
        }
        let code = self.code.map(|code| format!("[{code}]")).unwrap_or_default();
        // What a provider or a host says may be of any length, and may try to look like something else.
        let theirs = |text: &str| visible(&shorten(text, size::MESSAGE)).into_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{code}: {}", output.style_error("error"), theirs(&self.message));
        for cause in self.causes.iter().take(count::CAUSES) {
            let _ = writeln!(text, "  caused by: {}", theirs(cause));
        }
        if let Some(more @ 1..) = self.causes.len().checked_sub(count::CAUSES) {
            let _ = writeln!(text, "  and {more} more causes");
        }
        for hint in self.hints.iter().take(count::CAUSES) {
            let _ = writeln!(text, "{}: {}", output.style_hint("hint"), theirs(hint));
        }
        output.message(&text);
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

/// A problem with the line that it is about.
pub(crate) fn with_line(mut problem: Diagnostic) -> Diagnostic {
    let text = problem
        .location
        .as_ref()
        .map(|place| (place.file.clone(), file::read_text(Path::new(&*place.file), size::SPEC)));
    if let Some((file, Ok(text))) = text {
        problem.show_line(&SourceFile::new(file, text));
    }
    problem
}

impl From<slipway_state_store::Error> for CommandError {
    fn from(error: slipway_state_store::Error) -> Self {
        Self::of(error.code(), &error, store_hint(&error))
    }
}

fn store_hint(error: &slipway_state_store::Error) -> Option<String> {
    match error {
        slipway_state_store::Error::Held { holder, .. } => Some(format!(
            "wait until it is done (`--wait 10m`); a holder that is silent for {} s is replaced",
            holder.lease.term_seconds
        )),
        slipway_state_store::Error::HeadLost { cluster, .. } => Some(format!(
            "`slipway state rebuild {cluster} -f …` makes the state anew from what exists; `slipway state import` brings an \
             archive back"
        )),
        slipway_state_store::Error::Backend(error) => error.hint(),
        _ => None,
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
        Self::of(error.code(), &error, hint)
    }
}

impl From<slipway_protocol::Error> for CommandError {
    fn from(error: slipway_protocol::Error) -> Self {
        Self::of(error.code(), &error, error.hint())
    }
}

impl From<ProviderError> for CommandError {
    fn from(error: ProviderError) -> Self {
        let mut failure =
            Self::new(PROVIDER.id, error.message.clone()).cause(format!("class {}", error.class));
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
