//! Strategic merge patches.
//!
//! Mappings are merged. Of a list whose items are mappings with a `name` each, the items are merged by name. Everything else is
//! replaced. Where a mapping has exactly one of several keys, as the size of a pool, another key replaces it.

use std::collections::BTreeSet;

use super::{budget::Budget, patches::Problem};
use crate::{
    reader::join,
    shape::{Kind, Shape},
    source::Span,
    yaml::{Entry, Node, Value},
};

/// The key of directives, as in strategic merge patches of Kubernetes.
const DIRECTIVE: &str = "$patch";

/// What a patch does with a value beyond merging.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Merges a patch into a document. Returns whether the document stays. `shape` is that of the document, where it is known.
pub(super) fn apply(
    document: &mut Node,
    patch: Node,
    shape: Option<&Shape>,
    budget: &mut Budget,
    problems: &mut Vec<Problem>,
) -> bool {
    if !matches!(patch.value, Value::Mapping(_)) {
        let message = format!("a merge patch is a mapping, not {}", patch.noun());
        problems.push(Problem::new(patch.span, message, "write the fields to change, as `spec: { … }`"));
        return true;
    }
    let mut merger = Merger { budget, problems };
    let (directive, patch) = merger.directive(patch);
    match directive {
        Directive::Delete => {
            merger.nothing_beside(&patch);
            false
        }
        Directive::Replace => {
            let hint = "replace a field of the document, as `spec: { $patch: replace, … }`";
            merger.problems.push(Problem::new(patch.span, "a patch cannot replace a whole document", hint));
            true
        }
        Directive::Merge => {
            merger.value(document, patch, shape, "");
            true
        }
    }
}

struct Merger<'a> {
    /// Finding fields and items takes a part of it, as they are compared one after the other.
    budget: &'a mut Budget,
    problems: &'a mut Vec<Problem>,
}

impl Merger<'_> {
    /// Takes the directive out of a mapping.
    fn directive(&mut self, mut patch: Node) -> (Directive, Node) {
        let Value::Mapping(entries) = &mut patch.value else { return (Directive::Merge, patch) };
        let Some(index) = entries.iter().position(|entry| entry.key.text == DIRECTIVE) else {
            return (Directive::Merge, patch);
        };
        let entry = entries.remove(index);
        let directive = match entry.value.as_str() {
            Some("delete") => Directive::Delete,
            Some("replace") => Directive::Replace,
            Some("merge") => Directive::Merge,
            _ => {
                let message = format!("`{DIRECTIVE}` has an unknown value");
                self.problems.push(Problem::new(entry.value.span, message, "use `delete` or `replace`"));
                Directive::Merge
            }
        };
        (directive, patch)
    }

    /// Reports fields beside a directive that deletes.
    fn nothing_beside(&mut self, patch: &Node) {
        let beside = patch.entries().iter().find(|entry| entry.key.text != "name");
        if let Some(entry) = beside {
            let message = format!("`{}` is beside `{DIRECTIVE}: delete`", entry.key.text);
            self.problems.push(Problem::new(entry.key.span, message, "remove one of them"));
        }
    }

    /// Merges a value of a patch into the value that it changes. Returns whether the value was replaced as a whole.
    fn value(&mut self, target: &mut Node, patch: Node, shape: Option<&Shape>, path: &str) -> bool {
        let (directive, patch) = self.directive(patch);
        if directive == Directive::Delete {
            let hint = "write `null` as the value of a field to delete the field";
            let message = format!("`{DIRECTIVE}: delete` is for documents and for items of lists by name");
            self.problems.push(Problem::new(patch.span, message, hint));
            return false;
        }
        let is_merged = match (&target.value, &patch.value) {
            (Value::Mapping(_), Value::Mapping(_)) => true,
            (Value::Sequence(items), Value::Sequence(patches)) => {
                !patches.is_empty() && self.budget.take(items.len()) && is_named(items)
            }
            _ => false,
        };
        if !is_merged || directive == Directive::Replace {
            self.new_value(&patch);
            *target = patch;
            return true;
        }
        let Node { value, span, .. } = patch;
        match (&mut target.value, value) {
            (Value::Mapping(entries), Value::Mapping(patches)) => {
                if is_other_choice(shape, entries, &patches) {
                    entries.clear();
                    target.span = span;
                }
                for patch in patches {
                    let shape = inside(shape, &patch.key.text);
                    self.field(entries, patch, shape, path);
                }
            }
            (Value::Sequence(items), Value::Sequence(patches)) => {
                let shape = match shape.map(|shape| &shape.kind) {
                    Some(Kind::List(item)) => Some(&**item),
                    _ => None,
                };
                for patch in patches {
                    self.item(items, patch, shape, path);
                }
            }
            _ => {}
        }
        false
    }

    /// Merges a field of a patch into the fields of a mapping.
    fn field(&mut self, entries: &mut Vec<Entry>, patch: Entry, shape: Option<&Shape>, path: &str) {
        if !self.budget.search(entries.len()) {
            return;
        }
        let path = join(path, &patch.key.text);
        let index = entries.iter().position(|entry| entry.key.text == patch.key.text);
        match index {
            Some(index) if patch.value.is_null() => {
                entries.remove(index);
            }
            Some(index) => {
                if let Some(entry) = entries.get_mut(index)
                    && self.value(&mut entry.value, patch.value, shape, &path)
                {
                    entry.key.span = patch.key.span;
                }
            }
            None if patch.value.is_null() => {
                let message = format!("there is no `{path}` to delete");
                let hint = "remove the line from the patch";
                self.problems.push(Problem::new(patch.key.span, message, hint));
            }
            None => {
                let (directive, value) = self.directive(patch.value);
                if directive == Directive::Delete {
                    let message = format!("there is no `{path}` to delete");
                    self.problems.push(Problem::new(patch.key.span, message, "remove it from the patch"));
                    return;
                }
                self.new_value(&value);
                entries.push(Entry { key: patch.key, value });
            }
        }
    }

    /// Merges an item of a patch into a list whose items have names.
    fn item(&mut self, items: &mut Vec<Node>, patch: Node, shape: Option<&Shape>, path: &str) {
        let Some(name) = name(&patch).map(ToOwned::to_owned) else {
            let message = format!("the items of `{path}` are merged by `name`, and this item has none");
            let hint = "give the item its name; to replace the whole list, use a JSON patch";
            self.problems.push(Problem::new(patch.span, message, hint));
            return;
        };
        if !self.budget.search(items.len()) {
            return;
        }
        let (directive, patch) = self.directive(patch);
        let index = items.iter().position(|item| self::name(item) == Some(&*name));
        match (index, directive) {
            (Some(index), Directive::Delete) => {
                self.nothing_beside(&patch);
                items.remove(index);
            }
            (None, Directive::Delete) => {
                let message = format!("`{path}` has no item `{name}` to delete");
                self.problems.push(Problem::new(patch.span, message, "remove the item from the patch"));
            }
            (Some(index), Directive::Merge) => {
                if let Some(item) = items.get_mut(index) {
                    self.value(item, patch, shape, &format!("{path}[{name}]"));
                }
            }
            (Some(index), Directive::Replace) => {
                self.new_value(&patch);
                if let Some(item) = items.get_mut(index) {
                    *item = patch;
                }
            }
            (None, Directive::Merge | Directive::Replace) => {
                self.new_value(&patch);
                items.push(patch);
            }
        }
    }

    /// Checks a value that is not merged into another one: it has no directives.
    fn new_value(&mut self, value: &Node) {
        if let Some(span) = directive_in(value) {
            let message = format!("there is nothing to which `{DIRECTIVE}` applies");
            self.problems.push(Problem::new(span, message, "remove it from the patch"));
        }
    }
}

/// The span of a directive inside of a value.
fn directive_in(value: &Node) -> Option<Span> {
    if let Some(entry) = value.entry(DIRECTIVE) {
        return Some(entry.key.span);
    }
    let entries = value.entries().iter().map(|entry| &entry.value);
    entries.chain(value.items()).find_map(directive_in)
}

fn name(item: &Node) -> Option<&str> {
    item.get("name").and_then(Node::as_str).filter(|name| !name.is_empty())
}

/// Whether all items of a list have names, each another one.
fn is_named(items: &[Node]) -> bool {
    let mut seen = BTreeSet::new();
    !items.is_empty() && items.iter().all(|item| name(item).is_some_and(|name| seen.insert(name)))
}

/// The shape of a field, as far as it is known.
fn inside<'a>(shape: Option<&'a Shape>, name: &str) -> Option<&'a Shape> {
    match &shape?.kind {
        Kind::Object(fields) | Kind::OneOf(fields) => fields.get(name).map(|field| &field.shape),
        Kind::Map(values) => Some(&**values),
        _ => None,
    }
}

/// Whether a patch chooses another one of several keys of which a mapping has exactly one.
fn is_other_choice(shape: Option<&Shape>, entries: &[Entry], patches: &[Entry]) -> bool {
    let is_choice = shape.is_some_and(|shape| matches!(shape.kind, Kind::OneOf(_)));
    let is_new = |patch: &Entry| !entries.iter().any(|entry| entry.key.text == patch.key.text);
    is_choice && matches!(patches, [patch] if !patch.value.is_null() && is_new(patch))
}
