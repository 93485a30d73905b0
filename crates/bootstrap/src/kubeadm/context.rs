use slipway_spec::{
    diagnostic::{Code, Diagnostic},
    reader::Document,
    source::Span,
    yaml::Node,
};

use super::{code, form::Known, kinds::V1BETA3, v1beta3};

/// A document whose form was checked, and what is to be said about it.
pub(super) struct Context<'a> {
    document: Option<&'a Document>,
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Context<'a> {
    /// Checks a document's form and reads it; without one, or where its form is wrong, defaults take its place.
    pub(super) fn read<T: Known>(
        document: Option<&'a Document>,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> (Self, T) {
        let mut context = Self { document, diagnostics };
        let Some(document) = document else { return (context, T::default()) };
        let checked = T::forms().for_version(document).check(document);
        context.diagnostics.extend(checked.diagnostics);
        let mut json = checked.json;
        if document.api_version == V1BETA3 {
            v1beta3::convert(&document.kind, &mut json);
        }
        match serde_json::from_value(json) {
            Ok(value) => (context, value),
            Err(error) => {
                context.error(
                    "",
                    code::REFUSED,
                    format!("the document cannot be read: {error}"),
                    "correct it",
                );
                (context, T::default())
            }
        }
    }

    /// Reports an error at a field, named by its path with slashes: `apiServer/certSANs/2`.
    pub(super) fn error(
        &mut self,
        path: &str,
        code: Code,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.report(Diagnostic::error(code, message), path, hint.into());
    }

    /// Reports a value that kubeadm refuses.
    pub(super) fn refuse(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.error(path, code::REFUSED, message, hint);
    }

    /// Reports a warning at a field.
    pub(super) fn warn(
        &mut self,
        path: &str,
        code: Code,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.report(Diagnostic::warning(code, message), path, hint.into());
    }

    fn report(&mut self, diagnostic: Diagnostic, path: &str, hint: String) {
        let diagnostic = diagnostic.hint(hint);
        self.diagnostics.push(match self.document {
            Some(document) => diagnostic.at(&document.file, locate(document, path)),
            None => diagnostic,
        });
    }
}

/// The place of the field at a path, or of what comes closest to it.
fn locate(document: &Document, path: &str) -> Span {
    let mut node = &document.root;
    let mut span = node.entries().first().map_or(node.span, |entry| entry.key.span);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let key = node.entry(name).map(|entry| entry.key.span);
        let Some(next) = step(node, name) else { break };
        // What begins on a later line is pointed to by its name.
        span = key.filter(|key| key.start.line != next.span.start.line).unwrap_or(next.span);
        node = next;
    }
    span
}

fn step<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match name.parse::<usize>() {
        Ok(index) => node.items().get(index),
        Err(_) => node.get(name),
    }
}

impl Context<'_> {
    /// The source name of a secret whose text is in the document at a path.
    pub(super) fn source(&self, path: &str) -> String {
        let file = self.document.map_or("configuration", |document| document.file.path());
        format!("file:{file}#{path}")
    }
}
