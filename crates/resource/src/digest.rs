//! SHA-256 digests over canonical JSON.

use std::sync::Arc;
use std::{fmt, io};

use aws_lc_rs::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

/// A SHA-256 digest, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(bytes);
        Self::finish(context)
    }

    /// The digest of all bytes of a reader. The memory use does not grow with the length.
    ///
    /// # Errors
    /// When reading fails.
    pub fn of_reader(mut reader: impl io::Read) -> io::Result<Self> {
        let mut writer = Hashing(Context::new(&SHA256));
        io::copy(&mut reader, &mut writer)?;
        Ok(Self::finish(writer.0))
    }

    /// The digest of a value's JSON. Canonical as long as the type serialises maps in a fixed order, as every
    /// type of this workspace does.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        let mut writer = Hashing(Context::new(&SHA256));
        serde_json::to_writer(&mut writer, value)?;
        Ok(Self::finish(writer.0))
    }

    fn finish(context: Context) -> Self {
        Self(format!("sha256:{}", hexadecimal(context.finish().as_ref())).into())
    }

    /// Parses a written digest; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        let is_written = digits.len() == 64 && digits.bytes().all(|byte| DIGITS.contains(&byte));
        is_written.then(|| Self(text.into()))
    }

    /// The text with its `sha256:` prefix.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits, without the prefix.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.get(7..).unwrap_or(&self.0)
    }

    /// The first 32 hexadecimal digits, for names of files and objects with a limited length or alphabet.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.get(7..39).unwrap_or(&self.0)
    }

    /// The first twelve hexadecimal digits, for messages.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(7..19).unwrap_or(&self.0)
    }
}

/// Bytes in lower-case hexadecimal digits, as digests are written.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    // Allocated once: growing the text would leave copies of a secret that are never wiped.
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

struct Hashing(Context);

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_known_digest_of_an_empty_input() {
        assert_eq!(
            Digest::of_bytes(b"").as_str(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(Digest::of_bytes(b"1"), Digest::of(&1).unwrap());
        assert_eq!(hexadecimal(&[0, 0x9a, 0xff]), "009aff");
    }
}
