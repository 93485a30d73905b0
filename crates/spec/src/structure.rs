//! The structural check: every unknown field, wrong type, missing field, unknown word and malformed text of a
//! document in one pass, each at its place.
//!
//! Refused values are left out of the resulting JSON, or replaced where they are required, so that the rest
//! of the document is converted and checked nevertheless.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use crate::{
    diagnostic::{Diagnostic, code},
    reader::{Document, item_paths, join},
    shape::{Field, Kind, Shape},
    source::Span,
    yaml::{Entry, Node, Style, Value},
};

mod scalar;
mod suggest;

pub use suggest::Vocabulary;

/// The forms of a reference to a secret, by which its shape is known.
const SECRET_REFERENCE: [&str; 3] = ["env", "file", "sops"];

/// After so many mistakes the rest of a document's are left unsaid.
const MAX_MISTAKES: usize = 200;

/// The result of checking a document.
#[derive(Debug)]
pub struct Checked {
    /// The document as JSON that the shape's type reads.
    pub json: Json,
    /// The problems.
    pub diagnostics: Vec<Diagnostic>,
    /// The paths of refused and missing values, from the document's top.
    pub refused: Vec<String>,
}

/// Checks a document against a shape.
#[must_use]
pub fn check(document: &Document, shape: &Shape, vocabulary: &Vocabulary) -> Checked {
    let mut checker = Checker {
        document,
        vocabulary,
        diagnostics: Vec::new(),
        refused: Vec::new(),
        reported: BTreeSet::new(),
    };
    let json = checker.value(shape, &document.root, "", document.root.span, None);
    Checked {
        json: json.unwrap_or_else(|| shape.stand_in()),
        diagnostics: checker.diagnostics,
        refused: checker.refused,
    }
}

struct Checker<'a> {
    document: &'a Document,
    vocabulary: &'a Vocabulary,
    diagnostics: Vec<Diagnostic>,
    refused: Vec<String>,
    /// The locations of reported problems: a mistake behind an anchor is one mistake, however many aliases
    /// repeat it.
    reported: BTreeSet<(Span, &'static str)>,
}

impl Checker<'_> {
    fn report(&mut self, diagnostic: Diagnostic, span: Span, path: &str) {
        self.refused.push(path.to_owned());
        if self.diagnostics.len() >= MAX_MISTAKES {
            return;
        }
        if matches!(diagnostic.code, code::MISSING_FIELD) || self.reported.insert((span, diagnostic.code.id))
        {
            self.diagnostics.push(diagnostic.at(&self.document.file, span));
        }
    }

    /// The JSON of a value; `None` when it was refused. `holder` is the place of the key that holds it.
    fn value(
        &mut self,
        shape: &Shape,
        node: &Node,
        path: &str,
        holder: Span,
        default: Option<&Json>,
    ) -> Option<Json> {
        match &shape.kind {
            Kind::Opaque => Some(node.to_json()),
            Kind::Object(fields) => {
                if !matches!(node.value, Value::Mapping(_)) {
                    self.wrong_type(shape, node, path, holder);
                    return None;
                }
                Some(self.object(fields, node, path, holder))
            }
            Kind::OneOf(fields) => self.one_of(shape, fields, node, path, holder),
            Kind::Map(values) => {
                if !matches!(node.value, Value::Mapping(_)) {
                    self.wrong_type(shape, node, path, holder);
                    return None;
                }
                Some(self.map(values, node, path))
            }
            Kind::List(items) => {
                if !matches!(node.value, Value::Sequence(_)) {
                    self.wrong_type(shape, node, path, holder);
                    return None;
                }
                Some(self.list(items, node, path))
            }
            _ => match scalar::check(
                shape,
                node,
                &|| self.document.file.excerpt(node.span),
                field_name(path),
                default,
            ) {
                Ok(json) => Some(json),
                Err(diagnostic) => {
                    self.report(*diagnostic, pointed(node, holder), path);
                    None
                }
            },
        }
    }

    fn wrong_type(&mut self, shape: &Shape, node: &Node, path: &str, holder: Span) {
        let excerpt = self.document.file.excerpt(node.span);
        let diagnostic = scalar::wrong_type(shape, node, &excerpt, field_name(path));
        self.report(diagnostic, pointed(node, holder), path);
    }

    fn object(&mut self, fields: &BTreeMap<String, Field>, node: &Node, path: &str, holder: Span) -> Json {
        let mut json = Map::new();
        let mut mistyped = Vec::new();
        for entry in node.entries() {
            let name = entry.key.text.as_str();
            match fields.get(name) {
                Some(field) => {
                    if let Some(value) = self.field(field, entry, &join(path, name)) {
                        json.insert(name.to_owned(), value);
                    }
                }
                None => mistyped.extend(self.unknown_field(fields, node, entry, path)),
            }
        }
        for (name, field) in fields.iter().filter(|(_, field)| field.required) {
            if json.contains_key(name) {
                continue;
            }
            let refused = node.entry(name).is_some_and(|entry| !entry.value.is_null());
            if !refused && !mistyped.contains(name) && !self.document.truncated {
                self.missing_field(name, field, node, path, holder);
            }
            json.insert(name.clone(), field.shape.stand_in());
            self.refused.push(join(path, name));
        }
        Json::Object(json)
    }

    /// The value of a known field; `None` when it is not given or refused.
    fn field(&mut self, field: &Field, entry: &Entry, path: &str) -> Option<Json> {
        if entry.value.is_null() && !matches!(field.shape.kind, Kind::Opaque) {
            // A field without a value counts as not given; a variant that needs nothing is given by its name alone.
            return None;
        }
        self.value(&field.shape, &entry.value, path, entry.key.span, field.default.as_ref())
    }

    /// Reports an unknown field; returns the field that was probably meant.
    fn unknown_field(
        &mut self,
        fields: &BTreeMap<String, Field>,
        node: &Node,
        entry: &Entry,
        path: &str,
    ) -> Option<String> {
        let name = entry.key.text.as_str();
        if self.diagnostics.len() >= MAX_MISTAKES {
            self.refused.push(path.to_owned());
            return None;
        }
        let missing = |candidate: &&str| node.entry(candidate).is_none();
        let names = fields.keys().map(String::as_str);
        let meant = suggest::field(name, names.clone().filter(missing));
        let holder = if path.is_empty() && meant.is_none() { suggest::holder(name, fields) } else { None };
        let hint = match holder {
            Some(holder) => format!("indent `{name}` below `{holder}`"),
            None => self.vocabulary.hint(name, meant, fields, path, &names.collect::<Vec<_>>()),
        };
        let meant = meant.or(holder);
        let place = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
        let diagnostic =
            Diagnostic::error(code::UNKNOWN_FIELD, format!("unknown field `{name}`{place}")).hint(hint);
        self.report(diagnostic, entry.key.span, &join(path, meant.unwrap_or(name)));
        meant.map(ToOwned::to_owned)
    }

    fn missing_field(&mut self, name: &str, field: &Field, node: &Node, path: &str, holder: Span) {
        let given = node.entry(name);
        let message = match given {
            Some(_) => format!("the field `{name}` has no value"),
            None if path.is_empty() => format!("the document has no `{name}`"),
            None => format!("`{path}` has no `{name}`"),
        };
        let example = suggest::example(name, &field.shape);
        let hint = format!("add `{example}`: {}", suggest::first_sentence(&field.description));
        let span = given.map_or(holder, |entry| entry.key.span);
        let span = match (given, node.entries().first()) {
            (None, Some(first)) if path.is_empty() || span == node.span => first.key.span,
            _ => span,
        };
        let diagnostic = Diagnostic::error(code::MISSING_FIELD, message).hint(hint);
        self.report(diagnostic, span, &join(path, name));
    }

    fn one_of(
        &mut self,
        shape: &Shape,
        fields: &BTreeMap<String, Field>,
        node: &Node,
        path: &str,
        holder: Span,
    ) -> Option<Json> {
        let names = fields.keys().map(String::as_str).collect::<Vec<_>>();
        if !matches!(node.value, Value::Mapping(_)) {
            // A secret in place of a reference to one is not repeated.
            let is_secret = SECRET_REFERENCE.iter().all(|name| fields.contains_key(*name));
            let mut diagnostic = if is_secret {
                let message = format!("`{}` is {}, not {}", field_name(path), shape.noun(), node.noun());
                Diagnostic::error(code::WRONG_TYPE, message)
                    .without_line()
                    .hint(format!("write a mapping with exactly one of {}", names.join(", ")))
            } else {
                scalar::wrong_type(shape, node, &self.document.file.excerpt(node.span), field_name(path))
            };
            if let Some(hint) = suggest::variant(node, field_name(path), fields) {
                diagnostic = diagnostic.hint(hint);
            }
            self.report(diagnostic, node.span, path);
            return None;
        }
        let known: Vec<&Entry> =
            node.entries().iter().filter(|entry| fields.contains_key(&entry.key.text)).collect();
        for entry in node.entries().iter().filter(|entry| !fields.contains_key(&entry.key.text)) {
            // A field of a variant that is one level too high.
            let holds = |variant: &&String| {
                fields[*variant].shape.fields().is_some_and(|inside| inside.contains_key(&entry.key.text))
            };
            if known.is_empty()
                && let Some(variant) = fields.keys().find(holds)
            {
                let name = &entry.key.text;
                let diagnostic =
                    Diagnostic::error(code::UNKNOWN_FIELD, format!("unknown field `{name}` in `{path}`"))
                        .hint(format!(
                            "write it below `{variant}`, as in `{}: {{ {variant}: {{ {name}: … }} }}`",
                            field_name(path)
                        ));
                self.report(diagnostic, entry.key.span, path);
                continue;
            }
            let inside = known.first().and_then(|chosen| {
                fields[&chosen.key.text]
                    .shape
                    .fields()?
                    .contains_key(&entry.key.text)
                    .then_some(&chosen.key.text)
            });
            if let Some(chosen) = inside {
                let name = &entry.key.text;
                let diagnostic =
                    Diagnostic::error(code::UNKNOWN_FIELD, format!("unknown field `{name}` in `{path}`"))
                        .hint(format!("indent `{name}` below `{chosen}`"));
                self.report(diagnostic, entry.key.span, path);
            } else {
                self.unknown_field(fields, node, entry, path);
            }
        }
        match known.as_slice() {
            [only] => {
                let name = only.key.text.as_str();
                let field = &fields[name];
                let path = join(path, name);
                let value = if only.value.is_null() {
                    // `elected:` is as good as `elected: {}`; a variant that needs more says so.
                    let empty = Node { value: Value::Mapping(Vec::new()), ..only.value.clone() };
                    match &field.shape.kind {
                        Kind::Object(_) => self.value(&field.shape, &empty, &path, only.key.span, None),
                        _ => self.value(&field.shape, &only.value, &path, only.key.span, None),
                    }
                } else {
                    self.value(&field.shape, &only.value, &path, only.key.span, None)
                };
                let value = value.unwrap_or_else(|| field.shape.stand_in());
                Some(Json::Object(Map::from_iter([(name.to_owned(), value)])))
            }
            [] => {
                if node.entries().is_empty() && !self.document.truncated {
                    let diagnostic = Diagnostic::error(code::NOT_ONE_OF, format!("`{path}` says nothing"))
                        .hint(format!("give exactly one of {}", suggest::list(&names)));
                    self.report(diagnostic, holder, path);
                }
                None
            }
            [first, rest @ ..] => {
                for entry in rest {
                    let diagnostic = Diagnostic::error(
                        code::NOT_ONE_OF,
                        format!("`{path}` has both `{}` and `{}`", first.key.text, entry.key.text),
                    )
                    .hint(format!("give exactly one of {}", suggest::list(&names)))
                    .related("the other one", Some(&self.document.location(first.key.span)));
                    self.report(diagnostic, entry.key.span, path);
                }
                None
            }
        }
    }

    fn map(&mut self, values: &Shape, node: &Node, path: &str) -> Json {
        let mut json = Map::new();
        for entry in node.entries() {
            let path = join(path, &entry.key.text);
            if let Some(value) = self.value(values, &entry.value, &path, entry.key.span, None) {
                json.insert(entry.key.text.clone(), value);
            }
        }
        Json::Object(json)
    }

    fn list(&mut self, items: &Shape, node: &Node, path: &str) -> Json {
        let mut json = Vec::new();
        for (path, item) in item_paths(path, node.items()) {
            // The replacement keeps the positions of the later items.
            json.push(self.value(items, item, &path, item.span, None).unwrap_or_else(|| items.stand_in()));
        }
        Json::Array(json)
    }
}

/// The position of a message about a value. For a list, a mapping or a block of text on its own lines it is
/// the key.
fn pointed(node: &Node, holder: Span) -> Span {
    let block = matches!(node.value, Value::Sequence(_) | Value::Mapping(_)) || node.style == Style::Block;
    if block && holder.start.line < node.span.start.line { holder } else { node.span }
}

/// The last name of a path, for messages.
fn field_name(path: &str) -> &str {
    let name = path.rsplit('.').next().unwrap_or(path);
    if name.is_empty() { "the document" } else { name }
}

#[cfg(test)]
mod tests;
