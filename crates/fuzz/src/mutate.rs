//! Mutations: of bytes, of the lines and words of texts, and of the values of JSON, YAML, XML and messages.

mod json;
mod message;
mod words;
mod xml;
mod yaml;

pub(crate) use words::Dictionary;

use crate::random::Random;

/// The largest input that is made. Aliases and nesting do their harm in much less.
pub const LONGEST: usize = 64 << 10;

/// The form of the inputs of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Bytes,
    /// JSON, on one or several lines.
    Json,
    /// YAML.
    Yaml,
    /// XML or JSON, with lines of text between them.
    Xml,
    /// A byte, and a message of Protocol Buffers.
    Message,
}

/// Changes inputs.
pub(crate) struct Mutator {
    pub(crate) random: Random,
    form: Form,
    dictionary: Dictionary,
    /// The largest size of the present input.
    limit: usize,
}

impl Mutator {
    pub(crate) fn new(random: Random, form: Form, dictionary: Dictionary) -> Self {
        Self { random, form, dictionary, limit: LONGEST }
    }

    /// Changes an input a few times; `other` is one of the same corpus.
    ///
    /// Most inputs stay short: the time of a reader grows with the length, and what it finds out does not. One of 64 may have
    /// several KiB, one of 512 as many as any.
    pub(crate) fn mutated(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let usual = input.len().max(1 << 10) + 256;
        self.limit = match self.random.below(512) {
            0 => LONGEST,
            1..=8 => usual.max(8 << 10),
            _ => usual,
        };
        let mut bytes = Vec::with_capacity(input.len() + 256);
        bytes.extend_from_slice(input);
        let most = 1 << self.random.below(3);
        let rounds = 1 + self.random.below(most);
        for _ in 0..rounds {
            // Most changes leave the syntax right, so that readers get to the content.
            let is_formed = self.random.below(8) > 0;
            match self.form {
                Form::Json if is_formed => self.json(&mut bytes, other),
                Form::Yaml if is_formed => self.yaml(&mut bytes, other),
                Form::Xml if is_formed => self.xml(&mut bytes, other),
                Form::Message if is_formed => self.message(&mut bytes),
                _ => self.change(&mut bytes, other),
            }
            bytes.truncate(self.limit);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        match self.random.below(14) {
            0 => self.flip(bytes),
            1 => self.delete(bytes),
            2 => self.repeat(bytes),
            3 => self.splice(bytes, other),
            4 | 5 => self.word(bytes),
            6 | 7 => self.token(bytes),
            8..=11 => self.lines(bytes, other),
            12 => self.nest(bytes),
            _ => self.number(bytes),
        }
    }

    /// How many bytes may be added.
    fn room(&self, bytes: &[u8]) -> usize {
        self.limit.saturating_sub(bytes.len())
    }

    fn stretch(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.random.below(length + 1);
        start..(start + self.random.below(most)).min(length)
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        let index = self.random.below(bytes.len());
        let value = if self.random.below(2) == 0 { self.random.byte() } else { 1 << self.random.below(8) };
        if let Some(byte) = bytes.get_mut(index) {
            *byte ^= value;
        }
    }

    fn delete(&mut self, bytes: &mut Vec<u8>) {
        let range = self.stretch(bytes.len(), 32);
        bytes.drain(range);
    }

    fn repeat(&mut self, bytes: &mut Vec<u8>) {
        let range = self.stretch(bytes.len(), 200);
        let (at, most) = (range.end, self.room(bytes) / range.len().max(1));
        let piece = bytes[range].repeat((1_usize << self.random.below(8)).min(most));
        bytes.splice(at..at, piece);
    }

    fn splice(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let (here, there) = (self.random.below(bytes.len() + 1), self.random.below(other.len() + 1));
        bytes.truncate(here);
        bytes.extend_from_slice(&other[there..]);
    }

    fn word(&mut self, bytes: &mut Vec<u8>) {
        let range = self.stretch(bytes.len(), 8);
        let word = self.dictionary.word(&mut self.random);
        bytes.splice(range, word.iter().copied());
    }

    /// Replaces the whole value after a colon or a hyphen, or a word of JSON.
    fn token(&mut self, bytes: &mut Vec<u8>) {
        let from = self.random.below(bytes.len());
        let is_edge =
            |byte: &u8| matches!(byte, b' ' | b'\n' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'"');
        let Some(start) = bytes.get(from..).and_then(|rest| rest.iter().position(is_edge)) else { return };
        let start = from + start + 1;
        let rest = bytes.get(start..).unwrap_or_default();
        let end = start + rest.iter().position(is_edge).unwrap_or(rest.len());
        let word = self.dictionary.word(&mut self.random);
        bytes.splice(start.min(bytes.len())..end, word.iter().copied());
    }

    fn number(&mut self, bytes: &mut Vec<u8>) {
        let from = self.random.below(bytes.len());
        let rest = bytes.get(from..).unwrap_or_default();
        let Some(start) = rest.iter().position(u8::is_ascii_digit) else { return };
        let length = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = self.any_number();
        bytes.splice(from + start..from + start + length, text.bytes());
    }

    fn any_number(&mut self) -> String {
        (self.random.next() >> self.random.below(64)).to_string()
    }

    fn nest(&mut self, bytes: &mut Vec<u8>) {
        let at = self.random.below(bytes.len() + 1);
        let open: &[u8] = [&b"["[..], b"{a: ", b"- ", b"{\"a\":"][self.random.below(4)];
        let depth = (1_usize << self.random.below(13)).min(self.room(bytes) / open.len());
        bytes.splice(at..at, open.repeat(depth));
    }

    fn lines(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let index = self.random.below(lines.len());
        if lines.is_empty() {
            return;
        }
        let indented;
        match self.random.below(6) {
            0 => drop(lines.remove(index)),
            1 => lines.insert(index, lines[self.random.below(lines.len())]),
            2 => {
                let other = self.random.below(lines.len());
                lines.swap(index, other);
            }
            3 => {
                let from = self.random.below(other.len());
                let rest = other.get(from..).unwrap_or_default();
                lines.insert(index, rest.split_inclusive(|byte| *byte == b'\n').nth(1).unwrap_or_default());
            }
            4 => {
                let spaces = " ".repeat(self.random.below(9));
                indented = [spaces.as_bytes(), lines[index].trim_ascii_start()].concat();
                lines[index] = &indented;
            }
            _ => {
                let block = self.stretch(lines.len(), 20);
                let copy = lines[block].to_vec();
                let size: usize = copy.iter().map(|line| line.len()).sum();
                let times = (1_usize << self.random.below(5)).min(self.room(bytes) / size.max(1));
                lines.splice(index..index, copy.repeat(times));
            }
        }
        *bytes = lines.concat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand mutated inputs are read.
    fn read(form: Form, input: &[u8], is_read: impl Fn(&[u8]) -> bool) -> usize {
        let dictionary = Dictionary::of(&[input.to_vec()]);
        let mut mutator = Mutator::new(Random::new(1), form, dictionary);
        (0..1_000).filter(|_| is_read(&mutator.mutated(input, input))).count()
    }

    #[test]
    fn most_changes_of_json_leave_the_syntax_right() {
        let input = br#"{"a":{"b":[1,"two",{"c":null}],"d":true},"e":"f","g":[[],{}]}"#;
        let is_json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
        let (formed, any) = (read(Form::Json, input, is_json), read(Form::Bytes, input, is_json));
        assert!(formed > 600 && formed > any + 200, "{formed}, {any} of bytes");
    }

    #[test]
    fn most_changes_of_yaml_leave_the_syntax_right() {
        let input = b"a:\n  b:\n  - one\n  - c: 2\n    d: three\ne: {f: [1, 2]}\ng: h\n---\ni: j\n";
        let is_yaml = |bytes: &[u8]| {
            let Ok(text) = std::str::from_utf8(bytes) else { return false };
            let file = slipway_spec::source::SourceFile::new("a.yaml", text);
            slipway_spec::yaml::parse(&file).1.is_empty()
        };
        let (formed, any) = (read(Form::Yaml, input, is_yaml), read(Form::Bytes, input, is_yaml));
        assert!(formed > 350 && formed > any, "{formed}, {any} of bytes");
    }

    #[test]
    fn most_changes_of_messages_leave_the_syntax_right() {
        use prost::Message as _;
        use slipway_protocol::generated::{Error, Observed};
        let error = Error { message: "in use".to_owned(), ..Error::default() };
        let input = Observed {
            address: "sim_network.main".to_owned(),
            identity: "net-1".to_owned(),
            ..Observed::default()
        };
        let bytes = [vec![0], input.encode_to_vec(), error.encode_to_vec()].concat();
        let is_message = |bytes: &[u8]| Observed::decode(bytes.get(1..).unwrap_or_default()).is_ok();
        let (formed, any) = (read(Form::Message, &bytes, is_message), read(Form::Bytes, &bytes, is_message));
        assert!(formed > 500 && formed > any, "{formed}, {any} of bytes");
    }

    #[test]
    fn most_changes_of_xml_leave_the_syntax_right() {
        let input = b"<r><set><item><id>a-1</id><state>on</state></item><item><id>a-2</id></item></set><next>t</next></r>";
        // As many tags end as begin.
        let is_xml = |bytes: &[u8]| {
            let count = |mark: &[u8]| bytes.windows(mark.len()).filter(|window| *window == mark).count();
            bytes.starts_with(b"<") && bytes.ends_with(b">") && count(b"<") == 2 * count(b"</")
        };
        let (formed, any) = (read(Form::Xml, input, is_xml), read(Form::Bytes, input, is_xml));
        assert!(formed > 350 && formed > any, "{formed}, {any} of bytes");
    }

    #[test]
    fn inputs_stay_short_with_few_exceptions() {
        let input = b"a: b\n".repeat(10);
        let mut mutator = Mutator::new(Random::new(1), Form::Yaml, Dictionary::of(&[]));
        let sizes: Vec<usize> = (0..20_000).map(|_| mutator.mutated(&input, &input).len()).collect();
        let long = sizes.iter().filter(|size| **size > 2 << 10).count();
        assert!(long > 0 && long < 400, "{long}");
        assert!(sizes.iter().all(|size| *size <= LONGEST));
    }
}
