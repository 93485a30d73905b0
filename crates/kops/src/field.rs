//! A field of a document with its place: how the conversion reads.

use std::{collections::BTreeMap, str::FromStr};

use slipway_spec::{
    diagnostic::{Code, Diagnostic, code},
    reader::{Document, join},
    source::{Location, Span},
    value::{Duration, Malformed},
    yaml::{Node, Value},
};

use crate::{outcome::Outcome, values};

/// A field of a document, written or not.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    document: &'a Document,
    path: String,
    key: Option<Span>,
    node: Option<&'a Node>,
    /// The place of the innermost field around it that is written.
    around: Span,
}

impl<'a> Field<'a> {
    /// All of a document.
    pub(crate) fn root(document: &'a Document) -> Self {
        Self {
            document,
            path: String::new(),
            key: None,
            node: Some(&document.root),
            around: document.root.span,
        }
    }

    /// The field at a path such as `api.loadBalancer`, from here.
    pub(crate) fn at(&self, path: &str) -> Self {
        let mut field = self.clone();
        for name in path.split('.') {
            field = field.child(name);
        }
        field
    }

    fn child(&self, name: &str) -> Self {
        let entry = self.node.and_then(|node| node.entry(name)).filter(|entry| !entry.value.is_null());
        Self {
            document: self.document,
            path: join(&self.path, name),
            key: entry.map(|entry| entry.key.span),
            node: entry.map(|entry| &entry.value),
            around: self.key.or(self.node.map(|node| node.span)).unwrap_or(self.around),
        }
    }

    /// The entry of a mapping under a name that has dots of its own.
    pub(crate) fn entry(&self, name: &str) -> Self {
        self.child(name)
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Vec<Self> {
        let items = self.node.map(Node::items).unwrap_or_default();
        items
            .iter()
            .enumerate()
            .map(|(index, item)| Self {
                document: self.document,
                path: self.item_path(index, item),
                key: None,
                node: Some(item),
                around: item.span,
            })
            .collect()
    }

    fn item_path(&self, index: usize, item: &Node) -> String {
        match item.get("name").and_then(Node::as_str) {
            Some(name) => format!("{}[{name}]", self.path),
            None => format!("{}[{index}]", self.path),
        }
    }

    /// The entries of a mapping, in the order of the file.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        let entries = self.node.map(Node::entries).unwrap_or_default();
        entries
            .iter()
            .filter(|entry| !entry.value.is_null())
            .map(|entry| (entry.key.text.as_str(), self.child(&entry.key.text)))
            .collect()
    }

    /// Its path in the document, for messages.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The document that it is a field of.
    pub(crate) const fn document(&self) -> &'a Document {
        self.document
    }

    /// The value.
    pub(crate) const fn node(&self) -> Option<&'a Node> {
        self.node
    }

    /// Whether it is written with a value.
    pub(crate) const fn is_given(&self) -> bool {
        self.node.is_some()
    }

    /// A scalar as text: `None` for lists, mappings, and what is not written.
    pub(crate) fn text(&self) -> Option<String> {
        self.node.and_then(scalar)
    }

    /// A text that is not empty.
    pub(crate) fn filled(&self) -> Option<String> {
        self.text().filter(|text| !text.is_empty())
    }

    /// A boolean.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.node?.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A whole number that fits.
    pub(crate) fn number<T: TryFrom<i64>>(&self) -> Option<T> {
        match &self.node?.value {
            Value::Number(number) => T::try_from(number.as_i64()?).ok(),
            _ => None,
        }
    }

    /// The texts of a list.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(Self::text).collect()
    }

    /// The texts of a mapping.
    pub(crate) fn text_map(&self) -> BTreeMap<String, String> {
        self.entries()
            .into_iter()
            .filter_map(|(name, field)| Some((name.to_owned(), field.text()?)))
            .collect()
    }

    /// The whole value as JSON; `null` when it is not written.
    pub(crate) fn json(&self) -> serde_json::Value {
        self.node.map(Node::to_json).unwrap_or_default()
    }

    /// A Go duration.
    pub(crate) fn duration(&self) -> Option<Duration> {
        values::go_duration(&self.text()?)
    }

    /// A value that has a form; says what is wrong with it.
    pub(crate) fn parse<T: FromStr<Err = Malformed>>(&self, outcome: &mut Outcome) -> Option<T> {
        let text = self.filled()?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(malformed) => {
                outcome.say(self.malformed(&text, malformed.message, malformed.hint));
                None
            }
        }
    }

    /// The items of a list that have a form; says what is wrong with the others.
    pub(crate) fn parse_all<T: FromStr<Err = Malformed>>(&self, outcome: &mut Outcome) -> Vec<T> {
        self.items().iter().filter_map(|item| item.parse(outcome)).collect()
    }

    /// An error: the value does not have the form of the field.
    pub(crate) fn malformed(
        &self,
        text: &str,
        message: impl AsRef<str>,
        hint: impl Into<String>,
    ) -> Diagnostic {
        self.error(code::BAD_FORMAT, format!("{}: {text:?} {}", self.path, message.as_ref()))
            .hint(hint.into())
    }

    /// An error at the value.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        self.place(Diagnostic::error(code, message), self.value_span())
    }

    /// A warning at the value.
    pub(crate) fn warning(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        self.place(Diagnostic::warning(code, message), self.value_span())
    }

    /// A note at the field's name.
    pub(crate) fn note(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        self.place(Diagnostic::note(code, message), self.key_span())
    }

    fn place(&self, diagnostic: Diagnostic, span: Span) -> Diagnostic {
        diagnostic.at(&self.document.file, span)
    }

    fn value_span(&self) -> Span {
        self.node.map_or(self.around, |node| node.span)
    }

    fn key_span(&self) -> Span {
        self.key.unwrap_or_else(|| self.value_span())
    }

    /// The place of the field's name; of its value, for items of lists.
    pub(crate) fn key_location(&self) -> Option<Location> {
        self.key.map(|span| self.document.location(span))
    }

    /// The location of the value, or of the field around it when it is not written.
    pub(crate) fn location(&self) -> Location {
        self.document.location(self.value_span())
    }
}

/// A scalar as text.
pub(crate) fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) => None,
    }
}
