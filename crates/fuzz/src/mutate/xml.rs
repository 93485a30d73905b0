//! Mutations of XML: elements are found by their tags, without a parser.

use std::ops::Range;

use super::Mutator;

/// How many bytes are searched for the end of an element.
const FAR: usize = 16 << 10;

/// The places of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Element {
    /// Everything from its first tag to its last.
    whole: Range<usize>,
    /// The name in its first tag.
    name: Range<usize>,
    /// What is between the tags.
    inner: Range<usize>,
}

impl Mutator {
    /// Changes one element; a value of JSON where there is none.
    pub(super) fn xml(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let Some(element) = self.element(bytes) else { return self.json(bytes, other) };
        match self.random.below(12) {
            0 => {
                bytes.drain(element.whole);
            }
            1 => {
                let (copy, most) = (bytes[element.whole.clone()].to_vec(), self.most());
                let times = (1_usize << self.random.below(most)).min(self.room(bytes) / copy.len().max(1));
                bytes.splice(element.whole.end..element.whole.end, copy.repeat(times));
            }
            2 | 3 => {
                // Another element in its place.
                let source =
                    if self.random.below(2) == 0 || other.is_empty() { bytes.as_slice() } else { other };
                let Some(found) = self.element(source) else { return };
                let copy = source[found.whole].to_vec();
                if copy.len() <= self.room(bytes) {
                    bytes.splice(element.whole, copy);
                }
            }
            4 => {
                // Another name, in both tags.
                let name = self.dictionary.own(&mut self.random);
                let inner = &bytes[element.inner.clone()];
                let new = [&b"<"[..], name, b">", inner, b"</", name, b">"].concat();
                bytes.splice(element.whole, new);
            }
            5 => {
                let most = self.most();
                let depth = (1_usize << self.random.below(most)).min(self.room(bytes) / 7);
                let inner = &bytes[element.inner.clone()];
                let new = [b"<a>".repeat(depth).as_slice(), inner, &b"</a>".repeat(depth)].concat();
                bytes.splice(element.inner, new);
            }
            6 => self.change(bytes, other),
            _ => {
                let new = match self.random.below(4) {
                    0 => self.any_number().into_bytes(),
                    1 => self.dictionary.word(&mut self.random).to_vec(),
                    2 => Vec::new(),
                    _ => self.dictionary.own(&mut self.random).to_vec(),
                };
                bytes.splice(element.inner, new);
            }
        }
    }

    /// Some element, seldom a long one.
    fn element(&mut self, bytes: &[u8]) -> Option<Element> {
        let from = self.random.below(bytes.len());
        let is_tag = |pair: &[u8]| pair[0] == b'<' && pair[1].is_ascii_alphabetic();
        let start = from + bytes.get(from..)?.windows(2).position(is_tag)?;
        element_at(bytes, start)
    }
}

/// The element whose first tag begins at a place.
fn element_at(bytes: &[u8], start: usize) -> Option<Element> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte);
    let rest = bytes.get(start + 1..)?;
    let name = start + 1..start + 1 + rest.iter().position(|byte| !is_name(byte))?;
    let open_end = name.end + bytes[name.end..].iter().position(|byte| *byte == b'>')? + 1;
    if bytes[..open_end].ends_with(b"/>") {
        return Some(Element { whole: start..open_end, name, inner: open_end..open_end });
    }
    let (mut depth, mut at) = (1, open_end);
    let last = bytes.len().min(open_end + FAR);
    while let Some(found) = bytes.get(at..last)?.iter().position(|byte| *byte == b'<') {
        let tag = at + found;
        at = tag + 1;
        let (is_end, text) = match bytes.get(at..)?.strip_prefix(b"/") {
            Some(text) => (true, text),
            None => (false, &bytes[at..]),
        };
        let is_same = text.starts_with(&bytes[name.clone()]) && !text.get(name.len()).is_some_and(is_name);
        if !is_same {
            continue;
        }
        if !is_end {
            depth += 1;
            continue;
        }
        depth -= 1;
        if depth == 0 {
            let end = tag + bytes[tag..].iter().position(|byte| *byte == b'>')? + 1;
            return Some(Element { whole: start..end, name, inner: open_end..tag });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_ends_with_its_own_tag() {
        let text = b"<set><item a=\"b\"><item>1</item><items/></item></set>";
        let part = |range: Range<usize>| std::str::from_utf8(&text[range]).unwrap();
        let outer = element_at(text, 5).unwrap();
        assert_eq!(part(outer.whole), "<item a=\"b\"><item>1</item><items/></item>");
        assert_eq!(part(outer.inner), "<item>1</item><items/>");
        assert_eq!(part(outer.name), "item");
        let empty = element_at(text, 31).unwrap();
        assert_eq!((part(empty.whole), part(empty.inner)), ("<items/>", ""));
        assert!(element_at(b"<a><b></b>", 0).is_none());
    }
}
