//! Says of every field of a document that is not honoured what becomes of it.

use std::collections::BTreeSet;

use slipway_spec::{
    diagnostic::Diagnostic,
    reader::Document,
    source::Span,
    yaml::{Entry, Node, Value},
};

use crate::{
    code,
    fields::{Kind, Shape, Table},
    rules::{Class, Rules, Treatment},
};

/// Notes, warnings and errors for the fields of a document that have no effect or are refused, each at its line. Of a
/// group that is treated as one, only its outermost field is named.
#[must_use]
pub fn account(table: &Table, rules: &Rules, kind: Kind, document: &Document) -> Vec<Diagnostic> {
    let mut account = Account { rules, kind, document, said: BTreeSet::new(), diagnostics: Vec::new() };
    if let Some(shape) = table.shape(kind) {
        account.node("", shape, &document.root, &mut Vec::new());
    }
    account.diagnostics
}

struct Account<'a> {
    rules: &'a Rules,
    kind: Kind,
    document: &'a Document,
    said: BTreeSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

/// A written field on the way to a leaf: its path in the table, and the place of its name.
type Step = (String, Span);

impl Account<'_> {
    fn node(&mut self, path: &str, shape: &Shape, node: &Node, way: &mut Vec<Step>) {
        if node.is_null() {
            return;
        }
        match (shape, &node.value) {
            (Shape::Fields(fields), Value::Mapping(entries)) => {
                for entry in entries {
                    let name = &entry.key.text;
                    if let Some(shape) = fields.get(name) {
                        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                        self.entry(path, shape, entry, way);
                    }
                }
            }
            (Shape::List(item), Value::Sequence(items)) => {
                for node in items {
                    self.node(&format!("{path}[]"), item, node, way);
                }
            }
            (Shape::Map(value), Value::Mapping(entries)) => {
                for entry in entries {
                    self.entry(format!("{path}{{}}"), value, entry, way);
                }
            }
            (Shape::Leaf(_), _) => self.leaf(path, way),
            _ => {}
        }
    }

    fn entry(&mut self, path: String, shape: &Shape, entry: &Entry, way: &mut Vec<Step>) {
        way.push((path.clone(), entry.key.span));
        // An empty mapping of a removed thing, as in `docker: {}`, is said something about as well.
        if entry.value.entries().is_empty() && !matches!(shape, Shape::Leaf(_)) && !entry.value.is_null() {
            self.leaf(&path, way);
        }
        self.node(&path, shape, &entry.value, way);
        way.pop();
    }

    fn leaf(&mut self, path: &str, way: &[Step]) {
        let Some((rule, treatment)) = self.rules.find(self.kind, path) else {
            return;
        };
        if treatment.class() == Class::Honoured {
            return;
        }
        let Some((written, span)) = way.iter().find(|(step, _)| Rules::is_below(step, rule)) else {
            return;
        };
        let (written, span) = (written.replace("{}", ""), *span);
        let diagnostic = match treatment {
            Treatment::Mapped(_)
            | Treatment::Flag(_)
            | Treatment::Kubelet(_)
            | Treatment::Addon(_)
            | Treatment::Carried => return,
            Treatment::Refused(why) => {
                let (why, out) = why.split_once("; ").unwrap_or((why, "leave it out"));
                Diagnostic::error(code::REFUSED, format!("{written} is refused: {why}")).hint(out.to_owned())
            }
            Treatment::Harmless(why) => {
                Diagnostic::note(code::HARMLESS, format!("{written} has no effect: {why}"))
                    .hint(code::HARMLESS_HINT)
            }
            Treatment::Lost(why) => {
                let (why, out) = why.split_once("; ").unwrap_or((why, ""));
                let out = if out.is_empty() { String::new() } else { format!("{out}; ") };
                Diagnostic::warning(code::LOST, format!("{written} has no effect: {why}"))
                    .hint(format!("{out}go on only when the cluster can do without it"))
            }
        };
        if self.said.insert(span) {
            self.diagnostics.push(diagnostic.at(&self.document.file, span));
        }
    }
}
