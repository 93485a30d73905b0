//! Protobuf messages, as far as the logs of etcd need them.

/// The fields of a protobuf message, as far as they are numbers or bytes.
pub(super) struct Fields<'a>(Vec<(u64, Field<'a>)>);

/// A field of a message.
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    /// Reads a message; none for bytes that are no message, or that have fields of another wire type.
    pub(super) fn of(mut rest: &'a [u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (key, after) = varint(rest)?;
            rest = after;
            let field = match key & 7 {
                0 => {
                    let (number, after) = varint(rest)?;
                    rest = after;
                    Field::Number(number)
                }
                2 => {
                    let (length, after) = varint(rest)?;
                    let (bytes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
                    rest = after;
                    Field::Bytes(bytes)
                }
                _ => return None,
            };
            fields.push((key >> 3, field));
        }
        Some(Self(fields))
    }

    /// The first number with this tag.
    pub(super) fn number(&self, wanted: u64) -> Option<u64> {
        self.0.iter().find_map(|(number, field)| match field {
            Field::Number(value) if *number == wanted => Some(*value),
            _ => None,
        })
    }

    /// The first bytes with this tag.
    pub(super) fn bytes(&self, wanted: u64) -> Option<&'a [u8]> {
        self.0.iter().find_map(|(number, field)| match field {
            Field::Bytes(bytes) if *number == wanted => Some(*bytes),
            _ => None,
        })
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}
