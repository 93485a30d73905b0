//! Documents of `kops.k8s.io/v1alpha3`, brought into the form of `v1alpha2`: the same values under other names.

use std::collections::BTreeMap;

use slipway_spec::{
    diagnostic::Diagnostic,
    reader::Document,
    source::Span,
    yaml::{Entry, Key, Node, Style, Value},
};

use crate::{
    code,
    fields::{Kind, Shape, Table, sections, segments},
};

const MOVES: &str = include_str!("fields/moves.tsv");

/// The places of the fields of `v1alpha3` in `v1alpha2`.
#[derive(Debug, Clone)]
pub struct Moves {
    moves: BTreeMap<Kind, BTreeMap<String, Target>>,
}

/// The place of a field in `v1alpha2`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Path(String, Change),
    Nowhere(String),
}

/// How a value changes on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    Not,
    First,
    Pairs,
}

/// A part of the way to a value: a field with the place of its name, or an item.
#[derive(Debug, Clone)]
enum Step {
    Field(String, Span),
    Item(usize, Span),
}

impl Default for Moves {
    fn default() -> Self {
        let mut moves: BTreeMap<Kind, BTreeMap<String, Target>> = BTreeMap::new();
        for (kinds, line) in sections(MOVES) {
            let mut columns = line.splitn(3, '\t');
            let (Some(from), Some(to)) = (columns.next(), columns.next()) else { continue };
            let rest = columns.next().unwrap_or_default();
            let target = match (to, rest) {
                ("-", why) => Target::Nowhere(why.to_owned()),
                (to, "not") => Target::Path(to.to_owned(), Change::Not),
                (to, "first") => Target::Path(to.to_owned(), Change::First),
                (to, "pairs") => Target::Path(to.to_owned(), Change::Pairs),
                (to, _) => Target::Path(to.to_owned(), Change::None),
            };
            for kind in kinds.into_iter().filter_map(Kind::from_name) {
                moves.entry(kind).or_default().insert(from.to_owned(), target.clone());
            }
        }
        Self { moves }
    }
}

impl Moves {
    /// The document in the form of `v1alpha2`, every value at the place where it is written; and what that form has no
    /// field for.
    pub(crate) fn apply(
        &self,
        (new, old): (&Table, &Table),
        kind: Kind,
        document: &Document,
    ) -> (Document, Vec<Diagnostic>) {
        let mut moving =
            Moving { moves: self, old, kind, document, root: empty(&document.root), lost: Vec::new() };
        if let Some(shape) = new.shape(kind) {
            moving.node(&mut Vec::new(), shape, &document.root);
        }
        let Moving { root, lost, .. } = moving;
        (Document { root, ..document.clone() }, lost)
    }

    /// The move of the field at a path, with how much of the path it covers.
    fn find<'path>(&self, kind: Kind, path: &'path str) -> Option<(&'path str, &Target)> {
        let moves = self.moves.get(&kind)?;
        let mut rest = path;
        loop {
            if let Some(target) = moves.get(rest) {
                return Some((rest, target));
            }
            rest = match rest.strip_suffix("[]") {
                Some(shorter) => shorter,
                None => &rest[..rest.rfind('.')?],
            };
        }
    }
}

struct Moving<'a> {
    moves: &'a Moves,
    old: &'a Table,
    kind: Kind,
    document: &'a Document,
    root: Node,
    lost: Vec<Diagnostic>,
}

impl Moving<'_> {
    /// Follows the shape down to its leaves; a mapping with names of the user's choice moves as a whole.
    fn node(&mut self, way: &mut Vec<Step>, shape: &Shape, node: &Node) {
        match (shape, &node.value) {
            (Shape::Fields(fields), Value::Mapping(entries)) if !entries.is_empty() => {
                for entry in entries {
                    let Some(shape) = fields.get(&entry.key.text) else { continue };
                    way.push(Step::Field(entry.key.text.clone(), entry.key.span));
                    self.provider(way);
                    self.node(way, shape, &entry.value);
                    way.pop();
                }
            }
            (Shape::List(shape), Value::Sequence(items)) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    way.push(Step::Item(index, item.span));
                    self.node(way, shape, item);
                    way.pop();
                }
            }
            _ => self.place(way, node),
        }
    }

    /// `cloudProvider: { aws: … }` names the provider by its key.
    fn provider(&mut self, way: &[Step]) {
        let [.., Step::Field(parent, _), Step::Field(name, span)] = way else { return };
        if parent == "cloudProvider" && path(way) == format!("spec.cloudProvider.{name}") {
            let name = if name == "do" { "digitalocean" } else { name };
            let node = Node { value: Value::Text(name.to_owned()), span: *span, style: Style::Plain };
            let spec = way.iter().take(1).cloned();
            let to: Vec<_> = spec.chain([Step::Field("cloudProvider".to_owned(), *span)]).collect();
            insert(&mut self.root, &to, node);
        }
    }

    fn place(&mut self, way: &[Step], node: &Node) {
        let path = path(way);
        let mut node = node.clone();
        let to = match self.moves.find(self.kind, &path) {
            Some((_, Target::Nowhere(why))) => {
                let span = way.iter().rev().find_map(|step| match step {
                    Step::Field(_, span) => Some(*span),
                    Step::Item(..) => None,
                });
                let message = format!("{path} has no effect: {why}");
                let warning = Diagnostic::warning(code::LOST, message)
                    .hint("go on only when the cluster can do without it")
                    .at(&self.document.file, span.unwrap_or(node.span));
                self.lost.push(warning);
                return;
            }
            Some((covered, Target::Path(to, change))) => {
                if let (Change::First, [_, second, ..]) = (change, node.items()) {
                    let message = format!("{path} has more than one item, and only the first is honoured");
                    let warning = Diagnostic::warning(code::LOST, message)
                        .hint("leave one, the one that matters")
                        .at(&self.document.file, second.span);
                    self.lost.push(warning);
                }
                changed(&mut node, *change);
                format!("{to}{}", &path[covered.len()..])
            }
            None => path,
        };
        let names = self.spelled(&to);
        insert(&mut self.root, &steps(&names, way), node);
    }

    /// A path as `v1alpha2` spells it: fields that differ by upper and lower case only are the same.
    fn spelled(&self, path: &str) -> Vec<String> {
        let mut shape = self.old.shape(self.kind);
        segments(path)
            .into_iter()
            .map(|name| {
                let (own, next) = match shape {
                    Some(Shape::Fields(fields)) => fields
                        .get_key_value(name)
                        .or_else(|| fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)))
                        .map_or((None, None), |(own, shape)| (Some(own.as_str()), Some(shape))),
                    Some(Shape::List(inner)) if name == "[]" => (None, Some(&**inner)),
                    Some(Shape::Map(inner)) => (None, Some(&**inner)),
                    _ => (None, None),
                };
                shape = next;
                own.unwrap_or(name).to_owned()
            })
            .collect()
    }
}

/// The names of a path with the places and indices of the way that led to the value, counted from its end.
fn steps(names: &[String], way: &[Step]) -> Vec<Step> {
    let mut items = way.iter().filter_map(|step| match step {
        Step::Item(index, span) => Some((*index, *span)),
        Step::Field(..) => None,
    });
    let last = way.iter().rev().find_map(|step| match step {
        Step::Field(_, span) => Some(*span),
        Step::Item(..) => None,
    });
    let outermost = way.iter().find_map(|step| match step {
        Step::Field(_, span) => Some(*span),
        Step::Item(..) => None,
    });
    names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            if name == "[]" {
                let (index, span) = items.next().unwrap_or((0, Span::START));
                return Step::Item(index, span);
            }
            let written = way.iter().find_map(|step| match step {
                Step::Field(own, span) if own.eq_ignore_ascii_case(name) => Some(*span),
                _ => None,
            });
            let place = if index == 0 { outermost } else { written.or(last) };
            Step::Field(name.clone(), place.unwrap_or(Span::START))
        })
        .collect()
}

fn changed(node: &mut Node, change: Change) {
    match (change, &mut node.value) {
        (Change::Not, Value::Bool(value)) => *value = !*value,
        (Change::First, Value::Sequence(items)) => {
            if let Some(first) = items.first().cloned() {
                *node = first;
            }
        }
        (Change::Pairs, Value::Mapping(entries)) => {
            let items = entries.iter().map(|entry| {
                let value = entry.value.as_str().unwrap_or_default();
                Node { value: Value::Text(format!("{}={value}", entry.key.text)), ..entry.value.clone() }
            });
            node.value = Value::Sequence(items.collect());
        }
        _ => {}
    }
}

/// The path of a way in the table's form.
fn path(way: &[Step]) -> String {
    let mut path = String::new();
    for step in way {
        match step {
            Step::Field(name, _) if path.is_empty() => path.push_str(name),
            Step::Field(name, _) => {
                path.push('.');
                path.push_str(name);
            }
            Step::Item(..) => path.push_str("[]"),
        }
    }
    path
}

fn empty(like: &Node) -> Node {
    Node { value: Value::Mapping(Vec::new()), span: like.span, style: Style::Plain }
}

fn insert(node: &mut Node, way: &[Step], value: Node) {
    let Some((first, rest)) = way.split_first() else {
        // An empty mapping does not replace an existing value.
        if node.is_null() || !matches!(&value.value, Value::Mapping(entries) if entries.is_empty()) {
            *node = value;
        }
        return;
    };
    match first {
        Step::Field(name, span) => {
            if !matches!(node.value, Value::Mapping(_)) {
                node.value = Value::Mapping(Vec::new());
            }
            let Value::Mapping(entries) = &mut node.value else { return };
            let position = entries.iter().position(|entry| entry.key.text == *name).unwrap_or_else(|| {
                let key = Key { text: name.clone(), span: *span };
                entries.push(Entry {
                    key,
                    value: Node { value: Value::Null, span: *span, style: Style::Plain },
                });
                entries.len() - 1
            });
            insert(&mut entries[position].value, rest, value);
        }
        Step::Item(index, span) => {
            if !matches!(node.value, Value::Sequence(_)) {
                node.value = Value::Sequence(Vec::new());
            }
            let Value::Sequence(items) = &mut node.value else { return };
            while items.len() <= *index {
                items.push(Node { value: Value::Null, span: *span, style: Style::Plain });
            }
            insert(&mut items[*index], rest, value);
        }
    }
}

#[cfg(test)]
mod tests;
