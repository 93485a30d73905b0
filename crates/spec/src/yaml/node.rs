use crate::source::Span;

/// How much text counts as one more value in [`Node::size`], in bytes.
const TEXT_OF_A_VALUE: usize = 64;

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its position. A value of an alias has the position of its anchor.
    pub span: Span,
    /// How it is written.
    pub style: Style,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes; also every list and mapping.
    Plain,
    /// In quotes, single or double.
    Quoted,
    /// As a block with `|` or `>`.
    Block,
}

/// A YAML value, resolved by the core schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value, or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// A text.
    Text(String),
    /// A list.
    Sequence(Vec<Node>),
    /// A mapping, in the order of the file, each key once.
    Mapping(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Node,
}

/// A key with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key as text; numbers and booleans as they are written.
    pub text: String,
    /// Its position.
    pub span: Span,
}

impl Node {
    /// The value under a key of a mapping; `None` for everything else.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key of a mapping; `None` for everything else.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key.text == key)
    }

    /// The value under a key of a mapping, to be changed; `None` for everything else.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.entry_mut(key).map(|entry| &mut entry.value)
    }

    /// The entry of a key of a mapping, to be changed; `None` for everything else.
    pub(crate) fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        match &mut self.value {
            Value::Mapping(entries) => entries.iter_mut().find(|entry| entry.key.text == key),
            _ => None,
        }
    }

    /// Moves the value, and everything inside it, some lines down.
    pub(crate) fn move_down(&mut self, lines: u32) {
        self.span = self.span.down(lines);
        match &mut self.value {
            Value::Sequence(items) => items.iter_mut().for_each(|item| item.move_down(lines)),
            Value::Mapping(entries) => {
                for entry in entries {
                    entry.key.span = entry.key.span.down(lines);
                    entry.value.move_down(lines);
                }
            }
            _ => {}
        }
    }

    /// The number of values, this one and everything inside it. A long text counts as several values, as it takes the memory of
    /// several.
    pub(crate) fn size(&self) -> usize {
        let text = self.as_str().map_or(0, |text| text.len() / TEXT_OF_A_VALUE);
        let items: usize = self.items().iter().map(Self::size).sum();
        let entry = |entry: &Entry| entry.key.text.len() / TEXT_OF_A_VALUE + entry.value.size();
        let entries: usize = self.entries().iter().map(entry).sum();
        1 + text + items + entries
    }

    /// How deep values are nested, 1 for a scalar.
    pub(crate) fn depth(&self) -> usize {
        let items = self.items().iter().map(Self::depth);
        let entries = self.entries().iter().map(|entry| entry.value.depth());
        1 + items.chain(entries).max().unwrap_or_default()
    }

    /// The entries of a mapping; empty for everything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for everything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The text of a text; `None` for everything else.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The kind of the value, for messages: `a list`.
    #[must_use]
    pub const fn noun(&self) -> &'static str {
        match self.value {
            Value::Null => "no value",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }

    /// The value as JSON, without places.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => text.as_str().into(),
            Value::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Value::Mapping(entries) => serde_json::Value::Object(
                entries.iter().map(|entry| (entry.key.text.clone(), entry.value.to_json())).collect(),
            ),
        }
    }
}
