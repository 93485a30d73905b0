//! Results of a conversion beside the model: problems, and the position of each field of the model.

use slipway_spec::{diagnostic::Diagnostic, source::FieldSources};

use crate::field::Field;

/// Results of a conversion beside the model.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Problems and notes.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Where the model's fields are written.
    pub(crate) sources: FieldSources,
    /// Paths in the model whose values replace refused ones.
    pub(crate) refused: Vec<String>,
}

impl Outcome {
    /// Adds a problem.
    pub(crate) fn say(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds a problem whose value the model's field at `path` lacks.
    pub(crate) fn refuse(&mut self, path: &str, diagnostic: Diagnostic) {
        self.refused.push(path.to_owned());
        self.say(diagnostic);
    }

    /// Records that the model's field at `path` comes from this field of the document, when it is written.
    pub(crate) fn wrote(&mut self, path: &str, field: &Field<'_>) {
        if field.is_given() {
            self.sources.insert(path, field.key_location(), field.location());
        }
    }
}
