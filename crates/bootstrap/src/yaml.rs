//! JSON values written as the YAML that Kubernetes' own tools write, byte for byte.
//!
//! kubeadm compares and signs texts, so a manifest that means the same is not enough. The rules are those of
//! `sigs.k8s.io/yaml`: keys in natural order, lists at the indentation of their key, literal blocks for text of several
//! lines, quotes only where a YAML 1.1 reader would otherwise see another type, and lines folded after 80 columns.

mod order;
mod scalar;

use std::fmt::Write as _;

use serde_json::Value;

/// Column after which a scalar is folded at its next single space.
const WIDTH: usize = 80;

/// The value as one YAML document that ends with a line break.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut writer = Writer::default();
    writer.root(value);
    writer.text
}

/// Several values as documents, with `---` between them.
#[must_use]
pub fn documents<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(to_string).collect::<Vec<_>>().join("---\n")
}

#[derive(Default)]
struct Writer {
    text: String,
    /// Characters since the last line break.
    column: usize,
}

impl Writer {
    fn put(&mut self, piece: &str) {
        self.text.push_str(piece);
        match piece.rfind('\n') {
            Some(last) => self.column = piece.get(last + 1..).map_or(0, |rest| rest.chars().count()),
            None => self.column += piece.chars().count(),
        }
    }

    fn line(&mut self, indent: usize) {
        self.put("\n");
        self.spaces(indent);
    }

    fn spaces(&mut self, count: usize) {
        let _ = write!(self.text, "{:count$}", "");
        self.column += count;
    }

    fn root(&mut self, value: &Value) {
        match value {
            Value::Object(entries) if !entries.is_empty() => self.mapping(entries, 0),
            Value::Array(items) if !items.is_empty() => self.sequence(items, 0),
            scalar => {
                self.scalar(scalar, 2);
                if self.column > 0 {
                    self.put("\n");
                }
            }
        }
    }

    /// The entries of a mapping; the cursor is at the beginning of the first key.
    fn mapping(&mut self, entries: &serde_json::Map<String, Value>, indent: usize) {
        for (position, key) in order::sorted(entries.keys()).into_iter().enumerate() {
            if position > 0 {
                self.spaces(indent);
            }
            self.key(key, indent);
            let value = entries.get(key).unwrap_or(&Value::Null);
            match value {
                Value::Object(inner) if !inner.is_empty() => {
                    self.line(indent + 2);
                    self.mapping(inner, indent + 2);
                }
                // A list below a key is not indented any further than the key.
                Value::Array(items) if !items.is_empty() => {
                    self.line(indent);
                    self.sequence(items, indent);
                }
                scalar => {
                    self.put(" ");
                    self.scalar(scalar, indent + 2);
                    self.end();
                }
            }
        }
    }

    /// The items of a list; the cursor is at the place of the first dash.
    fn sequence(&mut self, items: &[Value], indent: usize) {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.spaces(indent);
            }
            self.put("- ");
            match item {
                Value::Object(inner) if !inner.is_empty() => self.mapping(inner, indent + 2),
                Value::Array(inner) if !inner.is_empty() => self.sequence(inner, indent + 2),
                scalar => {
                    self.scalar(scalar, indent + 2);
                    self.end();
                }
            }
        }
    }

    fn key(&mut self, key: &str, indent: usize) {
        // Keys of more than 128 bytes or of several lines are written in the long form.
        if key.len() > 128 || scalar::has_breaks(key) {
            self.put("? ");
            self.text_value(key, indent + 2);
            self.end();
            self.spaces(indent);
        } else {
            self.put(&scalar::key(key));
        }
        self.put(":");
    }

    fn end(&mut self) {
        if self.column > 0 {
            self.put("\n");
        }
    }

    /// A scalar, an empty list or an empty mapping, after its key or dash.
    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(true) => self.put("true"),
            Value::Bool(false) => self.put("false"),
            Value::Number(number) => self.put(&scalar::number(number)),
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
            Value::String(text) => self.text_value(text, indent),
        }
    }

    fn text_value(&mut self, text: &str, indent: usize) {
        match scalar::style(text) {
            scalar::Style::Plain => self.folded(text, indent),
            scalar::Style::Single => {
                self.put("'");
                self.folded(&text.replace('\'', "''"), indent);
                self.put("'");
            }
            scalar::Style::Double => self.double_quoted(text, indent),
            scalar::Style::Literal => self.literal(text, indent),
        }
    }

    /// Text in which a single space after the 80th column becomes a line break.
    fn folded(&mut self, text: &str, indent: usize) {
        let mut spaces = false;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character == ' ' {
                let last = characters.peek().is_none();
                if !spaces && self.column > WIDTH && !last && characters.peek() != Some(&' ') {
                    self.line(indent);
                } else {
                    self.put(" ");
                }
                spaces = true;
            } else {
                self.put(character.encode_utf8(&mut [0; 4]));
                spaces = false;
            }
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize) {
        self.put("\"");
        let mut spaces = false;
        let mut characters = text.char_indices().peekable();
        while let Some((position, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if character == ' ' {
                if !spaces && self.column > WIDTH && position > 0 && next.is_some() {
                    self.line(indent);
                    if next == Some(' ') {
                        self.put("\\");
                    }
                } else {
                    self.put(" ");
                }
                spaces = true;
            } else {
                self.put(&scalar::escaped(character));
                spaces = false;
            }
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        match text.strip_suffix('\n') {
            None => self.put("-"),
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => self.put("+"),
            Some(_) => {}
        }
        self.put("\n");
        let body = text.strip_suffix('\n').unwrap_or(text);
        for line in body.split('\n') {
            if !line.is_empty() {
                self.spaces(indent);
                self.put(line);
            }
            self.put("\n");
        }
    }
}

#[cfg(test)]
mod tests;
