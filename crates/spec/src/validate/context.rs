use slipway_limits::count;

use crate::{
    diagnostic::{self, Code, Diagnostic, Severity},
    model::Cluster,
    source::{FieldSources, Location},
};

/// A cluster and its checks.
pub(super) struct Context<'a> {
    pub(super) cluster: &'a Cluster,
    sources: &'a FieldSources,
    refused: &'a [String],
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A complaint of a rule, without its place.
pub(super) struct Complaint {
    pub(super) code: Code,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) hint: String,
    pub(super) related: Option<(String, String)>,
}

/// A complaint of severity error.
pub(super) fn error(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Complaint {
    Complaint { code, severity: Severity::Error, message: message.into(), hint: hint.into(), related: None }
}

/// A complaint of severity warning.
pub(super) fn warning(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Complaint {
    Complaint { severity: Severity::Warning, ..error(code, message, hint) }
}

impl Complaint {
    /// The same complaint, with the path of another field that belongs to it.
    pub(super) fn related(mut self, message: impl Into<String>, path: impl Into<String>) -> Self {
        self.related = Some((message.into(), path.into()));
        self
    }
}

impl<'a> Context<'a> {
    pub(super) const fn new(cluster: &'a Cluster, sources: &'a FieldSources, refused: &'a [String]) -> Self {
        Self { cluster, sources, refused, diagnostics: Vec::new() }
    }

    /// Whether the value at `path`, and everything inside it, is the written one.
    pub(super) fn trusts(&self, path: &str) -> bool {
        self.trusts_beside(path, |_| false)
    }

    /// The same, without the refused paths that do not matter.
    pub(super) fn trusts_beside(&self, path: &str, matters_not: impl Fn(&str) -> bool) -> bool {
        let inside = |refused: &&String| within(refused, path) || within(path, refused);
        self.refused.iter().filter(inside).all(|refused| matters_not(refused))
    }

    /// Whether the documents set the field at `path`.
    pub(super) fn is_written(&self, path: &str) -> bool {
        matches!(self.sources.origin(path), crate::source::Origin::Written(_))
    }

    /// Complains at the value of the field at `path`, unless it was refused before.
    pub(super) fn at(&mut self, path: &str, complaint: Complaint) {
        let location = self.sources.nearest(path);
        self.push(path, location, complaint);
    }

    /// Complains at the name of the field at `path`, unless it was refused before.
    pub(super) fn at_key(&mut self, path: &str, complaint: Complaint) {
        let location = self.sources.key(path).or_else(|| self.sources.nearest(path));
        self.push(path, location, complaint);
    }

    fn push(&mut self, path: &str, location: Option<&Location>, complaint: Complaint) {
        // More problems than this are not shown, and each costs more time to compare with the others.
        let enough = self.diagnostics.len() >= 5 * count::PROBLEMS;
        let another = complaint.severity != Severity::Error || diagnostic::has_errors(&self.diagnostics);
        if enough && another || !self.trusts(path) {
            return;
        }
        let Complaint { code, severity, message, hint, related } = complaint;
        let mut diagnostic = match severity {
            Severity::Error => Diagnostic::error(code, message),
            Severity::Warning => Diagnostic::warning(code, message),
            Severity::Note => Diagnostic::note(code, message),
        }
        .at_location(location)
        .hint(hint);
        if let Some((message, path)) = related {
            diagnostic = diagnostic.related(message, self.sources.nearest(&path));
        }
        self.diagnostics.push(diagnostic);
    }
}

/// Whether `path` is `outer` or inside it; every path is inside the empty one.
fn within(outer: &str, path: &str) -> bool {
    match path.strip_prefix(outer) {
        Some(rest) => outer.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    }
}
