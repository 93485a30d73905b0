use std::collections::BTreeMap;

use saphyr_parser::{Event, ScalarStyle, Tag};

use crate::{
    diagnostic::{Diagnostic, code},
    source::{SourceFile, Span},
    yaml::{Entry, Key, Node, Style, Value, resolve},
};

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 64;
/// The most values in a file, what aliases expand to included.
const MAX_NODES: usize = 100_000;

/// The file asks for more than the budget: reading it ends.
pub(super) struct Stop;

/// Builds trees from events.
pub(super) struct Builder<'a> {
    file: &'a SourceFile,
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    root: Option<Node>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

struct Frame {
    anchor: usize,
    span: Span,
    nodes_before: usize,
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
            nodes: 0,
            root: None,
            diagnostics: Vec::new(),
        }
    }

    /// The start of the innermost open list or mapping.
    pub(super) fn open(&self) -> Option<Span> {
        self.stack.last().map(|frame| frame.span)
    }

    /// What has been read of an unfinished document.
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
                self.spend(1, span)?;
                let node = self.scalar(&text, style, tag.as_deref(), span);
                self.remember(anchor, &node, 1);
                self.place(node);
            }
            Event::Alias(anchor) => {
                if let Some((node, size)) = self.anchors.get(&anchor).cloned() {
                    self.spend(size, span)?;
                    self.place(node);
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
                    let (anchor, size) = (frame.anchor, self.nodes - frame.nodes_before);
                    let node = self.close(frame, Some(span));
                    self.remember(anchor, &node, size);
                    self.place(node);
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => {}
        }
        Ok(None)
    }

    fn begin(&mut self, anchor: usize, tag: Option<&Tag>, span: Span, content: Content) -> Result<(), Stop> {
        self.spend(1, span)?;
        if self.stack.len() >= MAX_DEPTH {
            return Err(self.over_budget(format!("values are nested deeper than {MAX_DEPTH} levels"), span));
        }
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            self.refuse_tag(tag, span);
        }
        self.stack.push(Frame { anchor, span, nodes_before: self.nodes - 1, content });
        Ok(())
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Result<(), Stop> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(self.over_budget(
                format!("the file holds more than {MAX_NODES} values, what aliases repeat included"),
                span,
            ));
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

    fn remember(&mut self, anchor: usize, node: &Node, size: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Node {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let value = match tag {
            Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Value::Text(text.to_owned()),
            Some(tag) if tag.is_yaml_core_schema() => resolve::plain(text),
            Some(tag) => {
                self.refuse_tag(tag, span);
                Value::Text(text.to_owned())
            }
            None if style == Style::Plain => resolve::plain(text),
            None => Value::Text(text.to_owned()),
        };
        Node { value, span, style }
    }

    fn refuse_tag(&mut self, tag: &Tag, span: Span) {
        let diagnostic = Diagnostic::error(code::SYNTAX, format!("the tag {tag} has no meaning in a spec"))
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
