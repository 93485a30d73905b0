use std::collections::BTreeMap;

use saphyr_parser::{Event, ScalarStyle, Tag};
use slipway_limits::{count, size};

use crate::{
    diagnostic::{Diagnostic, code},
    source::{SourceFile, Span},
    yaml::{Entry, Key, Node, Style, Value, resolve},
};

/// The cost of values: their number, and the size of their texts.
#[derive(Clone, Copy, Default)]
struct Cost {
    nodes: usize,
    bytes: usize,
}

impl Cost {
    const fn of_text(text: &str) -> Self {
        Self { nodes: 1, bytes: text.len() }
    }

    const fn since(self, earlier: Self) -> Self {
        Self { nodes: self.nodes - earlier.nodes, bytes: self.bytes - earlier.bytes }
    }
}

/// The file asks for more than the budget: reading it ends.
pub(super) struct Stop;

/// Builds trees from events.
pub(super) struct Builder<'a> {
    file: &'a SourceFile,
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, Cost)>,
    spent: Cost,
    root: Option<Node>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

struct Frame {
    anchor: usize,
    span: Span,
    spent_before: Cost,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, keys: BTreeMap<String, Span>, merges: Vec<Node>, key: Option<PendingKey> },
}

enum PendingKey {
    Key(Key),
    Merge,
    /// A key that was refused; its value is dropped.
    Refused,
}

impl<'a> Builder<'a> {
    pub(super) fn new(file: &'a SourceFile) -> Self {
        Self {
            file,
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            spent: Cost::default(),
            root: None,
            diagnostics: Vec::new(),
        }
    }

    /// The start of the innermost open list or mapping.
    pub(super) fn open(&self) -> Option<Span> {
        self.stack.last().map(|frame| frame.span)
    }

    /// The part of an unfinished document that was read.
    pub(super) fn unwind(&mut self) -> Option<Node> {
        while let Some(frame) = self.stack.pop() {
            let node = self.close(frame, None);
            if self.place(node).is_some() {
                break;
            }
        }
        self.root.take().map(without_run_ons)
    }

    /// Takes the next event; returns the document's outermost value at its end.
    pub(super) fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, Stop> {
        match event {
            Event::DocumentEnd => {
                self.anchors.clear();
                return Ok(self.root.take());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let cost = Cost::of_text(&text);
                self.spend(cost, span)?;
                self.key_fits(&text, span)?;
                let node = self.scalar(&text, style, tag.as_deref(), span);
                self.remember(anchor, &node, cost)?;
                self.place(node);
            }
            Event::Alias(anchor) => {
                if let Some(cost) = self.anchors.get(&anchor).map(|(_, cost)| *cost) {
                    // Before the copy is made, not after it.
                    self.spend(cost, span)?;
                    if let Some((node, _)) = self.anchors.get(&anchor).cloned() {
                        if let Value::Text(text) = &node.value {
                            self.key_fits(text, span)?;
                        }
                        self.place(node);
                    }
                } else {
                    self.refuse_alias(anchor, span);
                }
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(anchor, tag.as_deref(), span, Content::Sequence(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                let content = Content::Mapping {
                    entries: Vec::new(),
                    keys: BTreeMap::new(),
                    merges: Vec::new(),
                    key: None,
                };
                self.begin(anchor, tag.as_deref(), span, content)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(frame) = self.stack.pop() {
                    let (anchor, cost) = (frame.anchor, self.spent.since(frame.spent_before));
                    let node = self.close(frame, Some(span));
                    self.remember(anchor, &node, cost)?;
                    self.place(node);
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => {}
        }
        Ok(None)
    }

    fn begin(&mut self, anchor: usize, tag: Option<&Tag>, span: Span, content: Content) -> Result<(), Stop> {
        let spent_before = self.spent;
        self.spend(Cost::of_text(""), span)?;
        if self.stack.len() >= count::DEPTH {
            let message = format!("values are nested deeper than {} levels", count::DEPTH);
            return Err(self.over_budget(message, span));
        }
        let own = if matches!(content, Content::Sequence(_)) { "seq" } else { "map" };
        if let Some(tag) = tag.filter(|tag| core_tag(tag) != Some(own)) {
            self.refuse_tag(tag, span);
        }
        self.stack.push(Frame { anchor, span, spent_before, content });
        Ok(())
    }

    fn spend(&mut self, cost: Cost, span: Span) -> Result<(), Stop> {
        self.spent.nodes = self.spent.nodes.saturating_add(cost.nodes);
        self.spent.bytes = self.spent.bytes.saturating_add(cost.bytes);
        if self.spent.nodes > count::VALUES {
            return Err(self.over_budget(
                format!("the file holds more than {} values, what aliases repeat included", count::VALUES),
                span,
            ));
        }
        if self.spent.bytes > size::EXPANDED.in_memory() {
            return Err(self.over_budget(
                format!(
                    "the texts of the file have more than {}, what aliases repeat included",
                    size::EXPANDED
                ),
                span,
            ));
        }
        Ok(())
    }

    /// Whether a text that comes next is short enough if it is a key.
    fn key_fits(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        let is_key =
            matches!(self.stack.last(), Some(Frame { content: Content::Mapping { key: None, .. }, .. }));
        if is_key && text.len() > size::KEY.in_memory() {
            let span = Span { start: span.start, end: span.start };
            return Err(self.over_budget(format!("a key is longer than {}", size::KEY), span));
        }
        Ok(())
    }

    fn over_budget(&mut self, message: String, span: Span) -> Stop {
        let diagnostic = Diagnostic::error(code::OVER_BUDGET, message)
            .at(self.file, span)
            .hint("a spec needs far less; split it, and write out what aliases repeat");
        self.diagnostics.push(diagnostic);
        Stop
    }

    /// Keeps the value of an anchor. The copy counts too: an anchor within an anchor is kept twice.
    fn remember(&mut self, anchor: usize, node: &Node, cost: Cost) -> Result<(), Stop> {
        if anchor > 0 {
            self.spend(cost, node.span)?;
            self.anchors.insert(anchor, (node.clone(), cost));
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Node {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let value = match tag {
            Some(tag) => match core_tag(tag) {
                Some("str") => Value::Text(text.to_owned()),
                Some(name @ ("bool" | "float" | "int" | "null")) => {
                    let value = resolve::plain(text);
                    if !is_a(name, &value) {
                        let message = format!("`{}` is not a value of the tag !!{name}", brief(text));
                        let diagnostic = Diagnostic::error(code::SYNTAX, message)
                            .at(self.file, span)
                            .hint("leave the tag out, or correct the value");
                        self.diagnostics.push(diagnostic);
                    }
                    value
                }
                _ => {
                    self.refuse_tag(tag, span);
                    Value::Text(text.to_owned())
                }
            },
            None if style == Style::Plain => resolve::plain(text),
            None => Value::Text(text.to_owned()),
        };
        Node { value, span, style }
    }

    /// Refuses an alias inside of its own anchor, or of another document's anchor. It has no value, so that
    /// there is no second complaint about the value.
    fn refuse_alias(&mut self, anchor: usize, span: Span) {
        let alias = brief(&self.file.excerpt(span));
        let own = self.stack.iter().find(|frame| frame.anchor == anchor);
        let mut diagnostic = match own {
            Some(_) => Diagnostic::error(
                code::ALIAS,
                format!("the alias `{alias}` is inside of the value that its own anchor names"),
            )
            .hint("write the value out; a value cannot contain itself"),
            None => super::syntax::unknown_alias(&alias),
        }
        .at(self.file, span);
        if let Some(own) = own {
            diagnostic = diagnostic.related("the value of its anchor", Some(&self.file.location(own.span)));
        }
        self.diagnostics.push(diagnostic);
        if let Some(Frame { content: Content::Mapping { key, .. }, .. }) = self.stack.last_mut() {
            *key = if key.is_some() { None } else { Some(PendingKey::Refused) };
        }
    }

    fn refuse_tag(&mut self, tag: &Tag, span: Span) {
        let diagnostic = Diagnostic::error(
            code::SYNTAX,
            format!("the tag `{}` has no meaning in a spec", brief(&written(tag))),
        )
        .at(self.file, span)
        .hint("leave the tag out");
        self.diagnostics.push(diagnostic);
    }

    /// Puts a finished value where it belongs; returns it as the root when nothing is open.
    fn place(&mut self, node: Node) -> Option<()> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        let (entries, keys, merges, key) = match &mut frame.content {
            Content::Sequence(items) => {
                items.push(node);
                return None;
            }
            Content::Mapping { entries, keys, merges, key } => (entries, keys, merges, key),
        };
        match key.take() {
            Some(PendingKey::Key(name)) => entries.push(Entry { key: name, value: node }),
            Some(PendingKey::Merge) => merges.push(node),
            Some(PendingKey::Refused) => {}
            None => {
                let (next, problem) = take_key(self.file, keys, node);
                *key = Some(next);
                self.diagnostics.extend(problem);
            }
        }
        None
    }

    fn close(&mut self, frame: Frame, end: Option<Span>) -> Node {
        // Only a list or mapping in brackets has an end of its own; the others end with their last value.
        let flow = end.is_some_and(|end| end.start != end.end);
        let (value, last) = match frame.content {
            Content::Sequence(items) => {
                let last = items.last().map(|item| item.span.end);
                (Value::Sequence(items), last)
            }
            Content::Mapping { mut entries, mut keys, merges, key } => {
                if let Some(PendingKey::Key(key)) = key {
                    let value = Node { value: Value::Null, span: key.span, style: Style::Plain };
                    entries.push(Entry { key, value });
                }
                let last = entries.iter().map(|entry| entry.value.span.end.max(entry.key.span.end)).max();
                for merge in merges {
                    self.merge(&mut entries, &mut keys, merge);
                }
                (Value::Mapping(entries), last)
            }
        };
        let end = match end {
            Some(end) if flow => end.end,
            _ => last.unwrap_or(frame.span.end),
        };
        Node {
            value,
            span: Span { start: frame.span.start, end: end.max(frame.span.start) },
            style: Style::Plain,
        }
    }

    /// Adds what a merge key brings, behind the mapping's own entries.
    fn merge(&mut self, entries: &mut Vec<Entry>, keys: &mut BTreeMap<String, Span>, merge: Node) {
        let sources = match merge.value {
            Value::Mapping(_) => vec![merge],
            Value::Sequence(items) if items.iter().all(|item| matches!(item.value, Value::Mapping(_))) => {
                items
            }
            _ => {
                let diagnostic = Diagnostic::error(code::SYNTAX, "a merge key `<<` needs a mapping")
                    .at(self.file, merge.span)
                    .hint("write an alias of a mapping, as in `<<: *defaults`");
                self.diagnostics.push(diagnostic);
                return;
            }
        };
        for source in sources {
            if let Value::Mapping(merged) = source.value {
                for entry in merged {
                    if !keys.contains_key(&entry.key.text) {
                        keys.insert(entry.key.text.clone(), entry.key.span);
                        entries.push(entry);
                    }
                }
            }
        }
    }
}

/// A tag as people write it: `!!python/object`, `!secret`.
fn written(tag: &Tag) -> String {
    if tag.is_yaml_core_schema() { format!("!!{}", tag.suffix) } else { tag.to_string() }
}

/// The name of a tag of YAML's core schema, as `int` of `!!int`; other names below `!!`, as `python/object`, are none of its.
fn core_tag(tag: &Tag) -> Option<&str> {
    let known = ["bool", "float", "int", "map", "null", "seq", "str"];
    Some(tag.suffix.as_str()).filter(|name| tag.is_yaml_core_schema() && known.contains(name))
}

fn is_a(tag: &str, value: &Value) -> bool {
    match tag {
        "null" => matches!(value, Value::Null),
        "bool" => matches!(value, Value::Bool(_)),
        "int" => matches!(value, Value::Number(number) if !number.is_f64()),
        _ => matches!(value, Value::Number(_)),
    }
}

/// The beginning of a text, for a message.
fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The tree without plain texts of several lines: before a mistake they are most often values that ran into it.
fn without_run_ons(node: Node) -> Node {
    let runs_on = |node: &Node| {
        let text = matches!(node.value, Value::Text(_)) && node.style == Style::Plain;
        text && node.span.start.line != node.span.end.line
    };
    let value = match node.value {
        Value::Mapping(entries) => Value::Mapping(
            entries
                .into_iter()
                .filter(|entry| !runs_on(&entry.value))
                .map(|entry| Entry { value: without_run_ons(entry.value), ..entry })
                .collect(),
        ),
        Value::Sequence(items) => {
            Value::Sequence(items.into_iter().filter(|item| !runs_on(item)).map(without_run_ons).collect())
        }
        scalar => scalar,
    };
    Node { value, ..node }
}

/// Makes a key of a value, unless it is none or was given before.
fn take_key(
    file: &SourceFile,
    keys: &mut BTreeMap<String, Span>,
    node: Node,
) -> (PendingKey, Option<Diagnostic>) {
    let text = match &node.value {
        Value::Text(text) if text == "<<" && node.style == Style::Plain => return (PendingKey::Merge, None),
        Value::Text(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Null => file.excerpt(node.span),
        Value::Sequence(_) | Value::Mapping(_) => {
            let problem = Diagnostic::error(code::SYNTAX, format!("a key is {}", node.noun()))
                .at(file, node.span)
                .hint("keys are texts; quote a text that begins with `{`, `[` or `*`");
            return (PendingKey::Refused, Some(problem));
        }
    };
    if let Some(first) = keys.get(&text) {
        let problem = Diagnostic::error(code::DUPLICATE_KEY, format!("the key `{text}` is given twice"))
            .at(file, node.span)
            .hint(format!("keep one of them; the first `{text}` is on line {}", first.start.line))
            .related("first given here", Some(&file.location(*first)));
        return (PendingKey::Refused, Some(problem));
    }
    keys.insert(text.clone(), node.span);
    (PendingKey::Key(Key { text, span: node.span }), None)
}
