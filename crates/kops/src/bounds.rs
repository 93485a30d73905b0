//! Bounds of documents: the conversion compares the items of some lists with each other, and unknown names with known ones.

use slipway_limits::count;
use slipway_spec::{
    diagnostic::{Diagnostic, code},
    reader::Document,
    source::Span,
    yaml::Node,
};

use crate::fields::{Kind, Shape, Table};

/// What the documents have more of than Slipway handles; empty if they are small enough to be converted.
pub(crate) fn exceeded(documents: &[(&Table, Kind, &Document)]) -> Vec<Diagnostic> {
    let mut complaints: Vec<Diagnostic> =
        documents.iter().filter_map(|(_, kind, document)| long(*kind, document)).collect();
    if complaints.is_empty() {
        complaints.extend(strange(documents));
    }
    complaints
}

/// The problem of a document with a list or mapping that has too many entries.
fn long(kind: Kind, document: &Document) -> Option<Diagnostic> {
    let root = &document.root;
    let (path, span, number) = longer("", root.span, root)?;
    let name = kind.as_str();
    let message = format!("{path} of a kOps {name} has {number} entries; Slipway handles {}", count::ITEMS);
    let complaint = Diagnostic::error(code::TOO_MANY_THINGS, message);
    Some(complaint.hint("write fewer, or make several clusters of it").at(&document.file, span))
}

/// The problem of documents that have too many unknown fields together, at the document with the last ones.
fn strange(documents: &[(&Table, Kind, &Document)]) -> Option<Diagnostic> {
    let mut unknown = 0;
    let (_, kind, document) = documents.iter().find(|(table, kind, document)| {
        unknown += table.shape(*kind).map_or(0, |shape| unknown_fields(shape, &document.root));
        unknown > count::ITEMS
    })?;
    let name = kind.as_str();
    let message = format!(
        "up to this kOps {name}, there are {unknown} fields that kOps does not know; Slipway handles {}",
        count::ITEMS
    );
    let complaint = Diagnostic::error(code::TOO_MANY_THINGS, message);
    Some(complaint.hint("remove the fields that kOps does not know").at(&document.file, document.root.span))
}

/// The path, place and length of a list or mapping with more entries than allowed.
fn longer(path: &str, span: Span, node: &Node) -> Option<(String, Span, usize)> {
    let number = node.items().len().max(node.entries().len());
    if number > count::ITEMS {
        return Some((path.to_owned(), span, number));
    }
    let mut items = node.items().iter().enumerate();
    let in_items = items.find_map(|(index, item)| longer(&format!("{path}[{index}]"), item.span, item));
    in_items.or_else(|| {
        node.entries().iter().find_map(|entry| {
            let name = &entry.key.text;
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            longer(&path, entry.key.span, &entry.value)
        })
    })
}

/// The number of fields that kOps does not know.
fn unknown_fields(shape: &Shape, node: &Node) -> usize {
    match shape {
        Shape::Fields(fields) => {
            let of =
                |name: &str, value: &Node| fields.get(name).map_or(1, |shape| unknown_fields(shape, value));
            node.entries().iter().map(|entry| of(&entry.key.text, &entry.value)).sum()
        }
        Shape::Map(value) => node.entries().iter().map(|entry| unknown_fields(value, &entry.value)).sum(),
        Shape::List(item) => node.items().iter().map(|node| unknown_fields(item, node)).sum(),
        Shape::Leaf(_) => 0,
    }
}
