//! Mutations of messages of Protocol Buffers: fields are changed, and the lengths around them follow.

use std::ops::Range;

use super::Mutator;

/// How deep fields are looked for in fields.
const DEEPEST: usize = 16;

/// A field as it is written.
struct Field {
    number: u64,
    wire: u64,
    whole: Range<usize>,
    content: Range<usize>,
}

/// The type of fields with a length.
const WITH_LENGTH: u64 = 2;

/// Numbers at the edges of their encoding.
const NUMBERS: [u64; 8] = [0, 1, 127, 128, u32::MAX as u64, i64::MAX as u64, u64::MAX, 1 << 35];

impl Mutator {
    /// Changes a field of a message behind the byte that chooses the message.
    pub(super) fn message(&mut self, bytes: &mut Vec<u8>) {
        if let Some((first, rest)) = bytes.split_first()
            && let Some(changed) = self.changed(rest, 0)
        {
            *bytes = [&[*first][..], &changed].concat();
        } else {
            self.change(bytes, &[]);
        }
    }

    fn changed(&mut self, message: &[u8], depth: usize) -> Option<Vec<u8>> {
        let fields = fields(message)?;
        let field = fields.get(self.random.below(fields.len()))?;
        let content = &message[field.content.clone()];
        let is_inner = field.wire == WITH_LENGTH && depth < DEEPEST && self.random.below(4) > 0;
        let inner = if is_inner { self.changed(content, depth + 1) } else { None };
        let new = match inner {
            Some(inner) => written(field.number, &inner),
            None => self.field(field, message),
        };
        Some([&message[..field.whole.start], new.as_slice(), &message[field.whole.end..]].concat())
    }

    /// Another field, or several, in the place of one.
    fn field(&mut self, field: &Field, message: &[u8]) -> Vec<u8> {
        let whole = &message[field.whole.clone()];
        match self.random.below(8) {
            0 => Vec::new(),
            1 => {
                let most = self.most();
                let times = 2_usize << self.random.below(most);
                whole.repeat(times.min(self.room(message) / whole.len().max(1)).max(1))
            }
            2 => {
                // The field of another number, of the same type.
                let number = (field.number + 1 - self.random.below(3) as u64).max(1);
                let (_, after) = whole.split_at(field.content.start - field.whole.start);
                match field.wire {
                    WITH_LENGTH => written(number, after),
                    wire => [&varint(number << 3 | wire)[..], after].concat(),
                }
            }
            3 if field.wire == WITH_LENGTH => {
                // The content in itself, as messages that refer to their own type are.
                let mut content = message[field.content.clone()].to_vec();
                let most = self.most();
                for _ in 0..1 << self.random.below(most) {
                    content = written(field.number, &content);
                    if content.len() > self.room(message) {
                        break;
                    }
                }
                content
            }
            // A word in the place of an inner message would be none.
            _ if field.wire == WITH_LENGTH && fields(&message[field.content.clone()]).is_some() => {
                match self.random.below(4) {
                    0 => written(field.number, b""),
                    _ => self
                        .changed(&message[field.content.clone()], DEEPEST)
                        .map_or_else(Vec::new, |content| written(field.number, &content)),
                }
            }
            _ if field.wire == WITH_LENGTH => {
                let word = self.dictionary.word(&mut self.random);
                written(field.number, word)
            }
            _ if field.wire == 0 => {
                let number = self.random.pick(&NUMBERS).copied().unwrap_or_default();
                [varint(field.number << 3), varint(number)].concat()
            }
            _ => {
                let mut bytes = whole.to_vec();
                if let Some(last) = bytes.last_mut() {
                    *last = self.random.byte();
                }
                bytes
            }
        }
    }
}

/// A field with a length.
fn written(number: u64, content: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | WITH_LENGTH)[..], &varint(content.len() as u64), content].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let [low, ..] = (number & 0x7f).to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in 0..10 {
        let byte = bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << (7 * shift);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The fields of a message; `None` for no message, and for one without fields.
fn fields(bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let tag = read_varint(bytes, &mut at)?;
        let (number, wire) = (tag >> 3, tag & 7);
        let mut content = at;
        match wire {
            0 => drop(read_varint(bytes, &mut at)?),
            1 => at += 8,
            WITH_LENGTH => {
                let length = usize::try_from(read_varint(bytes, &mut at)?).ok()?;
                content = at;
                at = at.checked_add(length)?;
            }
            5 => at += 4,
            _ => return None,
        }
        if at > bytes.len() || number == 0 {
            return None;
        }
        fields.push(Field { number, wire, whole: start..at, content: content..at });
    }
    (!fields.is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_with_their_content() {
        let message = [written(1, b"ab"), vec![0x10, 0x96, 0x01], written(3, &written(1, b"c"))].concat();
        let found = fields(&message).unwrap();
        let numbers: Vec<(u64, u64)> = found.iter().map(|field| (field.number, field.wire)).collect();
        assert_eq!(numbers, [(1, 2), (2, 0), (3, 2)]);
        assert_eq!(message[found[0].content.clone()], *b"ab");
        assert!(fields(b"\x0a\x05a").is_none(), "too short");
        assert_eq!(varint(300), [0xac, 0x02]);
    }
}
