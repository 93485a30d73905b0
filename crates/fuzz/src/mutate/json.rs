//! Mutations of JSON, and of the flow collections of YAML: values are found by their brackets and quotes, without a parser.

use std::ops::Range;

use super::Mutator;
use super::words::VALUES;

/// How many bytes are searched for the end of a value.
const FAR: usize = 16 << 10;

impl Mutator {
    /// Changes one value or one item.
    pub(super) fn json(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let Some(value) = self.value(bytes) else { return self.change(bytes, other) };
        match self.random.below(12) {
            0..=2 => {
                let new = self.any_value();
                bytes.splice(value, new);
            }
            3 => self.copy(bytes, value, None),
            4 => self.copy(bytes, value, Some(other)),
            5 => {
                let item = item(bytes, &value);
                bytes.drain(item);
            }
            6 => self.double(bytes, &value),
            7 => {
                let (open, close): (&[u8], &[u8]) =
                    if self.random.below(2) == 0 { (b"[", b"]") } else { (b"{\"a\":", b"}") };
                let most = self.most();
                let depth = (1_usize << self.random.below(most)).min(self.room(bytes) / 6);
                let wrapped =
                    [open.repeat(depth), bytes[value.clone()].to_vec(), close.repeat(depth)].concat();
                bytes.splice(value, wrapped);
            }
            8 => self.key(bytes, &value),
            9 => {
                let name = [&b"\""[..], self.dictionary.own(&mut self.random), b"\":"].concat();
                let new = [name, self.any_value(), b",".to_vec()].concat();
                let start = item(bytes, &value).start;
                let at = if bytes.get(start) == Some(&b',') { start + 1 } else { start };
                bytes.splice(at..at, new);
            }
            _ => self.inside(bytes, &value),
        }
    }

    /// The logarithm of how often something is repeated: a few times in most inputs.
    pub(super) fn most(&mut self) -> usize {
        if self.random.below(16) == 0 { 12 } else { 2 }
    }

    /// The place of some value: behind a colon, a comma or an opening bracket.
    fn value(&mut self, bytes: &[u8]) -> Option<Range<usize>> {
        let from = self.random.below(bytes.len());
        let found = bytes.get(from..)?.iter().position(|byte| matches!(byte, b':' | b',' | b'['))?;
        let start = skip_blanks(bytes, from + found + 1);
        let value = start..end(bytes, start)?;
        // A key is followed by its value, which is meant.
        let after = skip_blanks(bytes, value.end);
        if bytes.get(after) == Some(&b':') {
            let start = skip_blanks(bytes, after + 1);
            return Some(start..end(bytes, start)?);
        }
        Some(value)
    }

    fn any_value(&mut self) -> Vec<u8> {
        match self.random.below(8) {
            0..=3 => self.random.pick(VALUES).map(|value| value.as_bytes().to_vec()).unwrap_or_default(),
            4..=6 => [&b"\""[..], self.dictionary.own(&mut self.random), b"\""].concat(),
            _ => self.any_number().into_bytes(),
        }
    }

    /// Puts another value in the place of one.
    fn copy(&mut self, bytes: &mut Vec<u8>, value: Range<usize>, other: Option<&[u8]>) {
        let source = other.unwrap_or(bytes);
        let Some(found) = self.value(source) else { return };
        let copy = source[found].to_vec();
        if copy.len() <= self.room(bytes) {
            bytes.splice(value, copy);
        }
    }

    /// Repeats an item of a list or an object.
    fn double(&mut self, bytes: &mut Vec<u8>, value: &Range<usize>) {
        let item = item(bytes, value);
        let mut copy = bytes[item.clone()].to_vec();
        if copy.first() != Some(&b',') {
            copy = [&b","[..], copy.strip_suffix(b",").unwrap_or(&copy)].concat();
        }
        let most = self.most();
        let times = (1_usize << self.random.below(most)).min(self.room(bytes) / copy.len().max(1));
        bytes.splice(value.end..value.end, copy.repeat(times));
    }

    /// Gives a member another name.
    fn key(&mut self, bytes: &mut Vec<u8>, value: &Range<usize>) {
        let before = bytes.get(..value.start).unwrap_or_default();
        let Some(colon) = before.iter().rposition(|byte| *byte == b':') else { return };
        let close = before[..colon].iter().rposition(|byte| *byte == b'"');
        let open = close.and_then(|close| before[..close].iter().rposition(|byte| *byte == b'"'));
        let Some((open, close)) = open.zip(close) else { return };
        let name = self.dictionary.own(&mut self.random);
        bytes.splice(open + 1..close, name.iter().copied());
    }

    /// Changes a part of a text or a number.
    fn inside(&mut self, bytes: &mut Vec<u8>, value: &Range<usize>) {
        if bytes.get(value.start) != Some(&b'"') || value.len() < 2 {
            let new = self.any_value();
            bytes.splice(value.clone(), new);
            return;
        }
        let inner = value.start + 1..value.end - 1;
        let length = inner.len();
        let part = self.stretch(length, 8);
        let part = inner.start + part.start..inner.start + part.end;
        let new: Vec<u8> = match self.random.below(4) {
            0 => Vec::new(),
            1 => vec![b'!' + self.random.byte() % 90],
            2 => self.any_number().into_bytes(),
            _ => self.dictionary.own(&mut self.random).to_vec(),
        };
        let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\');
        if new.iter().all(is_plain) && bytes[part.clone()].iter().all(is_plain) {
            bytes.splice(part, new);
        }
    }
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the value that begins at a place; `None` where no value begins, and where it has no end.
fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let rest = &rest[..rest.len().min(FAR)];
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut place = 0;
    while let Some(byte) = rest.get(place) {
        match byte {
            b'\\' if is_text => place += 1,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => depth += 1,
            b',' | b']' | b'}' | b'\n' if depth == 0 => return (place > 0).then_some(start + place),
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        place += 1;
        let is_closed = depth == 0 && !is_text && matches!(byte, b'"' | b']' | b'}');
        if is_closed {
            return Some(start + place);
        }
    }
    None
}

/// A value with its key and one comma beside it.
fn item(bytes: &[u8], value: &Range<usize>) -> Range<usize> {
    let before = bytes.get(..value.start).unwrap_or_default();
    let blanks = before.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut start = value.start - blanks;
    if before.get(start.wrapping_sub(1)) == Some(&b':') {
        // The key is in quotes, or plain as in YAML.
        let is_edge = |byte: &u8| matches!(byte, b',' | b'{' | b'\n');
        start = before[..start].iter().rposition(is_edge).map_or(0, |edge| edge + 1);
    }
    if before.get(start.wrapping_sub(1)) == Some(&b',') {
        return start - 1..value.end;
    }
    let after = skip_blanks(bytes, value.end);
    let end = if bytes.get(after) == Some(&b',') { after + 1 } else { value.end };
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_with_its_bracket_or_its_quote() {
        let ends = |text: &str, value: &str| {
            let start = text.find(value).unwrap();
            assert_eq!(end(text.as_bytes(), start), Some(start + value.len()), "{text}");
        };
        ends(r#"{"a": "b,\"c]"}"#, r#""b,\"c]""#);
        ends(r#"{"a":[1,{"b":2}],"c":3}"#, r#"[1,{"b":2}]"#);
        ends("[1,22,3]", "22");
        ends("a: {b: c}\n", "{b: c}");
        assert_eq!(end(b"[1", 0), None);
    }

    #[test]
    fn an_item_has_its_key_and_one_comma() {
        let text = br#"{"a":1,"b":2}"#;
        assert_eq!(&text[item(text, &(5..6))], br#""a":1,"#);
        assert_eq!(&text[item(text, &(11..12))], br#","b":2"#);
    }
}
