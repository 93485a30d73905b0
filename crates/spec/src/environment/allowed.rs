//! Values of a base that come from a variable with allowed values. A patch may replace them only by an allowed value.

use std::collections::BTreeSet;

use super::{
    budget::Budget,
    listed,
    variables::{Reference, Variables, reference},
};
use crate::{
    diagnostic::{Diagnostic, code},
    source::SourceFile,
    yaml::{Node, Value},
};

/// A field with the value of a variable that has allowed values.
pub(super) struct Restricted<'a> {
    /// The index of its document.
    pub(super) document: usize,
    /// The keys that lead to the field.
    path: Vec<String>,
    /// The name of the variable.
    variable: &'a str,
    /// The allowed values; of a list, the allowed items.
    values: &'a [Node],
}

/// The restricted fields of a document whose references are not replaced yet. Fields inside of lists are left out: a patch can
/// move them.
pub(super) fn find<'a>(root: &Node, document: usize, variables: &Variables<'a>) -> Vec<Restricted<'a>> {
    let mut found = Vec::new();
    collect(root, &mut Vec::new(), document, variables, &mut found);
    found
}

fn collect<'a>(
    node: &Node,
    path: &mut Vec<String>,
    document: usize,
    variables: &Variables<'a>,
    found: &mut Vec<Restricted<'a>>,
) {
    match reference(node) {
        Reference::None => {}
        Reference::Wrong(_) => return,
        Reference::Name(name) => {
            if let Some((variable, values)) = variables.allowed(name) {
                found.push(Restricted { document, path: path.clone(), variable, values });
            }
            return;
        }
    }
    for entry in node.entries() {
        path.push(entry.key.text.clone());
        collect(&entry.value, path, document, variables, found);
        path.pop();
    }
}

impl Restricted<'_> {
    /// The same field after documents were put before its own.
    pub(super) fn moved_by(self, documents: usize) -> Self {
        Self { document: self.document + documents, ..self }
    }

    /// The error of a field whose value is not an allowed one any more. A field that was removed has none.
    pub(super) fn check(&self, root: &Node, file: &SourceFile, budget: &mut Budget) -> Option<Diagnostic> {
        let mut value = root;
        for key in &self.path {
            if !budget.search(value.entries().len()) {
                return None;
            }
            value = value.get(key)?;
        }
        if value.is_null() || !budget.take(self.values.len()) {
            return None;
        }
        let refused = refused(value, self.values)?;
        let shown: Vec<String> = self.values.iter().map(|allowed| allowed.to_json().to_string()).collect();
        let (path, variable) = (self.path.join("."), self.variable);
        let message = format!(
            "a patch gives `{path}` a value that the variable `{variable}` of the base does not allow"
        );
        let hint = format!(
            "remove it from the patch, and set `{variable}` in `values`; the allowed values are {}",
            listed(shown.iter().map(String::as_str))
        );
        Some(Diagnostic::error(code::VARIABLE, message).at(file, refused.span).hint(hint))
    }
}

/// The value, or the first item of a list, that is not an allowed one.
pub(super) fn refused<'n>(value: &'n Node, allowed: &[Node]) -> Option<&'n Node> {
    let values = match &value.value {
        Value::Sequence(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    // Both may be many.
    let texts: BTreeSet<String> = allowed.iter().map(|allowed| allowed.to_json().to_string()).collect();
    values.iter().find(|value| !texts.contains(&value.to_json().to_string()))
}
