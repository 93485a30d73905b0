//! The header of each stored object: random digits of this write, and the digest of the bytes.
//!
//! ```text
//! slipway-object 1 <32 hexadecimal digits> <64 hexadecimal digits>\n
//! ```
//!
//! The digits make an object that is changed and changed back another version, also where a backend names
//! versions by a digest of the content, as S3 does. In files they are the tag.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;

use crate::backend::Tag;
use crate::digest::Digest;

const MAGIC: &str = "slipway-object 1 ";
/// The whole line with its end.
const LENGTH: usize = MAGIC.len() + 32 + 1 + 64 + 1;

/// The line before the bytes.
pub(crate) struct Envelope;

impl Envelope {
    /// The tag and the line for a write, from 32 random digits.
    pub(crate) fn seal(random: &str, bytes: &[u8]) -> (Tag, String) {
        (Tag::from_e_tag(random), format!("{MAGIC}{random} {}\n", Digest::of(bytes).to_hex()))
    }

    /// The tag and the bytes of a whole file.
    pub(crate) fn open(file: Bytes) -> Result<(Tag, Bytes), &'static str> {
        let (tag, digest) = parse(file.get(..LENGTH).unwrap_or(&file))?;
        let body = file.slice(LENGTH..);
        if Digest::of(&body).to_hex() != digest {
            return Err("its digest does not match");
        }
        Ok((tag, body))
    }

    /// The tag of a file, without reading its bytes.
    pub(crate) fn read_tag(path: &Path) -> io::Result<Result<Tag, &'static str>> {
        let mut line = Vec::with_capacity(LENGTH);
        File::open(path)?.take(LENGTH as u64).read_to_end(&mut line)?;
        Ok(parse(&line).map(|(tag, _)| tag))
    }
}

fn parse(line: &[u8]) -> Result<(Tag, &str), &'static str> {
    let fields = || {
        let line = std::str::from_utf8(line).ok()?;
        let (tag, digest) = line.strip_prefix(MAGIC)?.strip_suffix('\n')?.split_once(' ')?;
        (line.len() == LENGTH && tag.len() == 32).then(|| (Tag::from_e_tag(tag), digest))
    };
    fields().ok_or("it does not begin as an object of a Slipway state store")
}
