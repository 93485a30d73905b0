//! Mutations of YAML in block style: a line with all lines that belong to it is moved, removed and repeated as a whole.

use std::ops::Range;

use super::Mutator;

/// A line of a document.
struct Line {
    /// Its bytes, without the line break.
    range: Range<usize>,
    /// The number of blanks before its content.
    indent: usize,
    /// Whether it is an item of a list.
    is_item: bool,
}

impl Line {
    /// The line that has the byte at a place.
    fn at(bytes: &[u8], place: usize) -> Self {
        let before = bytes.get(..place).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let indent = rest[..length].iter().take_while(|byte| **byte == b' ').count();
        let is_item = rest[indent..length].starts_with(b"- ");
        Self { range: start..start + length, indent, is_item }
    }

    /// The place after the line break.
    fn next(&self, bytes: &[u8]) -> usize {
        (self.range.end + 1).min(bytes.len())
    }

    /// The line with those below it that belong to it, with the line break.
    fn block(&self, bytes: &[u8]) -> Range<usize> {
        let mut end = self.next(bytes);
        while end < bytes.len() {
            let line = Self::at(bytes, end);
            let is_item_of_key = line.indent == self.indent && line.is_item && !self.is_item;
            let is_blank = line.range.len() == line.indent;
            if line.indent <= self.indent && !is_item_of_key && !is_blank {
                break;
            }
            end = line.next(bytes).max(end + 1);
        }
        self.range.start..end
    }

    /// The place of the content, behind the hyphens of items.
    fn content(&self, bytes: &[u8]) -> usize {
        let mut start = self.range.start + self.indent;
        while bytes[start..self.range.end].starts_with(b"- ") {
            start += 2;
        }
        start
    }

    /// The places of the key, if there is one, and of the value.
    fn parts(&self, bytes: &[u8]) -> (Option<Range<usize>>, Range<usize>) {
        let start = self.content(bytes);
        let text = &bytes[start..self.range.end];
        let colon = text.windows(2).position(|pair| pair == b": ");
        let colon = colon.or_else(|| text.strip_suffix(b":").map(<[u8]>::len));
        match colon {
            Some(colon) => {
                (Some(start..start + colon), (start + colon + 2).min(self.range.end)..self.range.end)
            }
            None => (None, start..self.range.end),
        }
    }
}

impl Mutator {
    /// Changes a line, or a line with all that belongs to it.
    pub(super) fn yaml(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        if bytes.is_empty() {
            return self.change(bytes, other);
        }
        let line = Line::at(bytes, self.random.below(bytes.len()));
        let (key, value) = line.parts(bytes);
        match self.random.below(13) {
            0..=2 => self.scalar(bytes, value),
            3 => {
                let block = line.block(bytes);
                bytes.drain(block);
            }
            4 => {
                let (copy, most) = (bytes[line.block(bytes)].to_vec(), self.most());
                let times = (1_usize << self.random.below(most)).min(self.room(bytes) / copy.len().max(1));
                bytes.splice(line.range.start..line.range.start, copy.repeat(times));
            }
            5 | 6 => self.graft(bytes, &line, other),
            7 => {
                let Some(key) = key else { return self.scalar(bytes, value) };
                let name = self.dictionary.own(&mut self.random);
                bytes.splice(key, name.iter().copied());
            }
            8 => {
                // The value of another line.
                let source =
                    if self.random.below(2) == 0 || other.is_empty() { bytes.as_slice() } else { other };
                let found = Line::at(source, self.random.below(source.len())).parts(source).1;
                let copy = source[found].to_vec();
                if !copy.is_empty() && copy.len() <= self.room(bytes) {
                    bytes.splice(value, copy);
                }
            }
            9 => {
                let name = self.dictionary.own(&mut self.random).to_vec();
                let word = self.dictionary.word(&mut self.random);
                let new = [" ".repeat(line.indent).as_bytes(), name.as_slice(), b": ", word, b"\n"].concat();
                bytes.splice(line.range.start..line.range.start, new);
            }
            10 => {
                // A value becomes a list or a mapping, or the reverse.
                let (old, way) = (bytes[value.clone()].to_vec(), self.random.below(3));
                let name = self.dictionary.own(&mut self.random);
                let new = match way {
                    0 => [&b"["[..], &old, b"]"].concat(),
                    1 => [&b"{"[..], name, b": ", &old, b"}"].concat(),
                    _ => [&b"\""[..], &old, b"\""].concat(),
                };
                bytes.splice(value, new);
            }
            _ => self.json(bytes, other),
        }
    }

    fn scalar(&mut self, bytes: &mut Vec<u8>, value: Range<usize>) {
        let new = match self.random.below(4) {
            0 => self.any_number().into_bytes(),
            1 => self.dictionary.word(&mut self.random).to_vec(),
            _ => self.dictionary.own(&mut self.random).to_vec(),
        };
        bytes.splice(value, new);
    }

    /// Puts a block from elsewhere before a line, with the indentation of that line.
    fn graft(&mut self, bytes: &mut Vec<u8>, line: &Line, other: &[u8]) {
        let source = if self.random.below(2) == 0 || other.is_empty() { bytes.as_slice() } else { other };
        let from = Line::at(source, self.random.below(source.len()));
        let block = &source[from.block(source)];
        if block.len() > self.room(bytes) {
            return;
        }
        let mut grafted = Vec::with_capacity(block.len() + 64);
        for text in block.split_inclusive(|byte| *byte == b'\n') {
            let own = text.iter().take_while(|byte| **byte == b' ').count();
            grafted.resize(grafted.len() + (own + line.indent).saturating_sub(from.indent), b' ');
            grafted.extend_from_slice(&text[own..]);
        }
        if grafted.last() != Some(&b'\n') {
            grafted.push(b'\n');
        }
        bytes.splice(line.range.start..line.range.start, grafted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"a:\n- b: 1\n  c: 2\n- d\ne: f\n";

    #[test]
    fn a_block_has_all_lines_below_its_first() {
        assert_eq!(Line::at(TEXT, 0).block(TEXT), 0..21);
        assert_eq!(Line::at(TEXT, 4).block(TEXT), 3..17);
        assert_eq!(Line::at(TEXT, 23).block(TEXT), 21..26);
    }

    #[test]
    fn a_line_has_a_key_and_a_value() {
        let parts = |place| Line::at(TEXT, place).parts(TEXT);
        assert_eq!(parts(0), (Some(0..1), 2..2));
        assert_eq!(parts(4), (Some(5..6), 8..9));
        assert_eq!(parts(18), (None, 19..20));
    }
}
