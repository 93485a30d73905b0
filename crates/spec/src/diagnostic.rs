//! Diagnostics of a loader about a spec: the problem, its location, and the hint.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use slipway_limits::{count, size, text};

use crate::source::{Location, SourceFile, Span};

mod render;
mod similar;

pub mod code;

pub use code::Code;
pub use render::{Count, count, render, render_all};
pub use similar::{closest, misspelt};

/// How much a problem weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is planned until it is repaired.
    Error,
    /// It works, and is probably not what was meant.
    Warning,
    /// Worth knowing: for example a field without effect.
    Note,
}

impl Severity {
    /// The word in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One problem of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The stable code, with a page in `docs/errors/`.
    #[serde(serialize_with = "code_id")]
    pub code: Code,
    /// How much it weighs.
    pub severity: Severity,
    /// The problem: a sentence without a full stop that names the thing and the value.
    pub message: String,
    /// Where; absent when it belongs to no place in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The text of the first line of the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<String>,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Other places that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// Whether its line may hold a secret, so that it is not shown.
    #[serde(skip)]
    unquoted: bool,
}

/// Another place that belongs to a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    /// A few words about the location, as in `first given here`.
    pub message: String,
    /// The place.
    pub location: Location,
}

fn code_id<S: Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.id)
}

impl Diagnostic {
    /// An error with this code and message.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning with this code and message.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A note with this code and message.
    #[must_use]
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: brief(message.into()),
            location: None,
            source_line: None,
            hint: None,
            related: Vec::new(),
            unquoted: false,
        }
    }

    /// The same problem, at a stretch of a file.
    #[must_use]
    pub fn at(mut self, file: &SourceFile, span: Span) -> Self {
        self.location = Some(file.location(span));
        self.show_line(file);
        self
    }

    /// The same problem, at a place whose line is filled in later by [`Diagnostic::show_line`].
    #[must_use]
    pub fn at_location(mut self, location: Option<&Location>) -> Self {
        self.location = location.cloned();
        self
    }

    /// Fills in the source line from the file of the location.
    pub fn show_line(&mut self, file: &SourceFile) {
        if let Some(location) = self.location.as_ref().filter(|_| !self.unquoted)
            && let Some(file) = file.named(&location.file)
        {
            self.source_line = file.shown_line(location.line).map(ToOwned::to_owned);
        }
    }

    /// The same problem of a value that may be a secret: its line is not shown.
    #[must_use]
    pub(crate) fn without_line(mut self) -> Self {
        self.unquoted = true;
        self.source_line = None;
        self
    }

    /// Removes what the problem quotes from its file, which may hold secrets: the place stays.
    pub(crate) fn unquote(&mut self) {
        self.unquoted = true;
        self.source_line = None;
        // What is said of an unknown document names its `apiVersion` and its `kind` at most.
        if self.code != code::UNKNOWN_KIND {
            self.code.title.clone_into(&mut self.message);
            let hint = "the file is no spec, so its content is not shown; keep files of keys in another folder, or under a name \
                        that does not end in .yaml, .yml or .json";
            self.hint = Some(hint.to_owned());
        }
    }

    /// The same problem with a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(brief(hint.into().into_owned()));
        self
    }

    /// The same problem with a way out, when there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(brief).or(self.hint);
        self
    }

    /// The same problem with another place that belongs to it.
    #[must_use]
    pub fn related(mut self, message: impl Into<String>, location: Option<&Location>) -> Self {
        if let Some(location) = location {
            self.related.push(Related { message: brief(message.into()), location: location.clone() });
        }
        self
    }
}

/// Brings problems into the order of the files and lines, and drops repetitions.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        (&a.location, a.severity, a.code.id, &a.message).cmp(&(
            &b.location,
            b.severity,
            b.code.id,
            &b.message,
        ))
    });
    diagnostics.dedup();
}

/// Leaves as many problems as are shown, errors before warnings and notes, with the count of the others at the end.
pub fn cap(diagnostics: &mut Vec<Diagnostic>) {
    let Some(more) = diagnostics.len().checked_sub(count::PROBLEMS).filter(|more| *more > 0) else { return };
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    errors = errors.min(count::PROBLEMS);
    let mut others = count::PROBLEMS - errors;
    diagnostics.retain(|diagnostic| {
        let left = if diagnostic.severity == Severity::Error { &mut errors } else { &mut others };
        let kept = *left > 0;
        *left = left.saturating_sub(1);
        kept
    });
    let are = if more == 1 { "1 more problem is" } else { &format!("{more} more problems are") };
    diagnostics.push(
        Diagnostic::note(code::MORE_PROBLEMS, format!("{are} not shown"))
            .hint("repair those that are shown, and run the command again"),
    );
}

/// A quoted text in a message may be as long as the file.
fn brief(mut message: String) -> String {
    text::shorten_in_place(&mut message, size::MESSAGE);
    message
}

/// Whether nothing may be planned because of these problems.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}
