//! Checks documents against the table: fields that do not exist, and values of the wrong type.
//!
//! A typing mistake is an error, since the intended setting would be lost. Any other field that kOps does not
//! know (a field of an older or a newer version) is left out with a warning, as kOps itself does.

use std::{borrow::Cow, collections::BTreeMap};

use slipway_spec::{
    diagnostic::{Diagnostic, closest, code, misspelt},
    reader::Document,
    source::Span,
    yaml::{Node, Style, Value},
};

use crate::{
    code as kops_code,
    fields::{Kind, Shape, Table, Type},
};

/// Every way in which a document does not fit the table.
#[must_use]
pub fn check(table: &Table, kind: Kind, document: &Document) -> Vec<Diagnostic> {
    let mut check = Check { table, kind, document, diagnostics: Vec::new() };
    if let Some(shape) = table.shape(kind) {
        check.node("", shape, &document.root);
    }
    check.diagnostics
}

/// The document without the fields that kOps does not know, and with misspelt fields under the names that were probably
/// meant, so that nothing is said to be missing because of a typo: the typo itself is an error.
#[must_use]
pub fn repaired<'a>(table: &Table, kind: Kind, document: &'a Document) -> Cow<'a, Document> {
    match table.shape(kind) {
        Some(shape) if !is_known(shape, &document.root) => {
            let mut document = document.clone();
            repair(shape, &mut document.root);
            Cow::Owned(document)
        }
        _ => Cow::Borrowed(document),
    }
}

/// Whether kOps knows every field.
fn is_known(shape: &Shape, node: &Node) -> bool {
    match (shape, &node.value) {
        (Shape::Fields(fields), Value::Mapping(entries)) => entries
            .iter()
            .all(|entry| fields.get(&entry.key.text).is_some_and(|shape| is_known(shape, &entry.value))),
        (Shape::Map(value), Value::Mapping(entries)) => {
            entries.iter().all(|entry| is_known(value, &entry.value))
        }
        (Shape::List(item), Value::Sequence(items)) => items.iter().all(|node| is_known(item, node)),
        _ => true,
    }
}

fn repair(shape: &Shape, node: &mut Node) {
    match (shape, &mut node.value) {
        (Shape::Fields(fields), Value::Mapping(entries)) => {
            for index in 0..entries.len() {
                let name = &entries[index].key.text;
                if fields.contains_key(name) {
                    continue;
                }
                if let Some(meant) = misspelt(name, fields.keys().map(String::as_str))
                    && !entries.iter().any(|entry| entry.key.text == meant)
                {
                    entries[index].key.text = meant.to_owned();
                }
            }
            entries.retain(|entry| fields.contains_key(&entry.key.text));
            for entry in entries {
                if let Some(shape) = fields.get(&entry.key.text) {
                    repair(shape, &mut entry.value);
                }
            }
        }
        (Shape::Map(value), Value::Mapping(entries)) => {
            entries.iter_mut().for_each(|entry| repair(value, &mut entry.value));
        }
        (Shape::List(item), Value::Sequence(items)) => items.iter_mut().for_each(|node| repair(item, node)),
        _ => {}
    }
}

struct Check<'a> {
    table: &'a Table,
    kind: Kind,
    document: &'a Document,
    diagnostics: Vec<Diagnostic>,
}

impl Check<'_> {
    fn node(&mut self, path: &str, shape: &Shape, node: &Node) {
        if node.is_null() {
            return;
        }
        match shape {
            Shape::Leaf(kind) => self.leaf(path, *kind, node),
            Shape::Fields(fields) => match &node.value {
                Value::Mapping(_) => self.fields(path, fields, node),
                _ => self.wrong_type(path, "a mapping", node),
            },
            Shape::List(item) => match &node.value {
                Value::Sequence(items) => {
                    for (index, node) in items.iter().enumerate() {
                        self.node(&format!("{path}[{index}]"), item, node);
                    }
                }
                _ => self.wrong_type(path, "a list", node),
            },
            Shape::Map(value) => match &node.value {
                Value::Mapping(entries) => {
                    for entry in entries {
                        self.node(&format!("{path}[{}]", entry.key.text), value, &entry.value);
                    }
                }
                _ => self.wrong_type(path, "a mapping", node),
            },
        }
    }

    fn fields(&mut self, path: &str, fields: &BTreeMap<String, Shape>, node: &Node) {
        for entry in node.entries() {
            let name = &entry.key.text;
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match fields.get(name) {
                Some(shape) => self.node(&path, shape, &entry.value),
                None => self.unknown(&path, name, fields, entry.key.span),
            }
        }
    }

    fn unknown(&mut self, path: &str, name: &str, fields: &BTreeMap<String, Shape>, span: Span) {
        let names = || fields.keys().map(String::as_str);
        let kind = self.kind.as_str();
        if let Some(meant) = misspelt(name, names()) {
            let message = format!("{path} is not a field of a kOps {kind}");
            let unknown = Diagnostic::error(code::UNKNOWN_FIELD, message);
            return self.say(unknown.hint(format!("did you mean {meant}?")), span);
        }
        let hint = match (closest(name, names()), self.table.place_of(self.kind, name)) {
            (Some(meant), _) => format!("did you mean {meant}?"),
            (None, Some(place)) => format!("kOps has {place}; is {name} indented as it should be?"),
            (None, None) => "go on only when the cluster can do without it, as it does in kOps".to_owned(),
        };
        let message = format!("{path} has no effect: it is not a field of a kOps {kind}");
        self.say(Diagnostic::warning(kops_code::LOST, message).hint(hint), span);
    }

    fn leaf(&mut self, path: &str, kind: Type, node: &Node) {
        if !kind.fits(node) {
            return self.wrong_type(path, kind.noun(), node);
        }
        if let Some((message, hint)) = kind.malformed(node) {
            let shown = self.document.file.excerpt(node.span);
            let diagnostic = Diagnostic::error(code::BAD_FORMAT, format!("{path}: {shown} {message}"));
            return self.say(diagnostic.hint(hint), node.span);
        }
        if let Some(inner) = kind.inner() {
            for (index, item) in node.items().iter().enumerate() {
                self.leaf(&format!("{path}[{index}]"), inner, item);
            }
            for entry in node.entries() {
                self.leaf(&format!("{path}[{}]", entry.key.text), inner, &entry.value);
            }
        }
    }

    fn wrong_type(&mut self, path: &str, wanted: &str, node: &Node) {
        let shown = self.document.file.excerpt(node.span);
        let found = match &node.value {
            Value::Sequence(_) | Value::Mapping(_) => node.noun().to_owned(),
            _ => format!("{} ({})", node.noun(), shown.trim()),
        };
        let message = format!("{path} is {found}, and {wanted} is wanted");
        let hint = match (&node.value, wanted) {
            (Value::Number(_) | Value::Bool(_), "a text") => {
                Some(format!("write it in quotes: \"{}\"", shown.trim()))
            }
            (Value::Text(text), "a boolean") => match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "true" | "y" => Some("write true".to_owned()),
                "no" | "off" | "false" | "n" => Some("write false".to_owned()),
                _ => None,
            },
            (Value::Text(text), "a whole number")
                if node.style == Style::Quoted && text.parse::<i64>().is_ok() =>
            {
                Some(format!("write it without quotes: {text}"))
            }
            (Value::Text(_) | Value::Number(_), "a list" | "a list of texts") => {
                Some(format!("write it as a list of one: [{}]", shown.trim()))
            }
            (Value::Number(_), "a duration") => Some(format!("did you mean {0}s or {0}m?", shown.trim())),
            _ => None,
        };
        self.say(Diagnostic::error(code::WRONG_TYPE, message).maybe_hint(hint), node.span);
    }

    fn say(&mut self, diagnostic: Diagnostic, span: Span) {
        self.diagnostics.push(diagnostic.at(&self.document.file, span));
    }
}
