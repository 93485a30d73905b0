//! Keys and prefixes that every place can keep: files on any system, and every object store.

use std::fmt;

use super::error::{Error, Result};

/// The longest key, in bytes (object stores take 1,024 including what a bucket puts before it).
const LONGEST: usize = 800;

/// The name of an object: segments of `A–Z a–z 0–9 . _ - =` joined by `/`, none empty, none starting with a dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// Checks the text.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        match check(&text) {
            Some(reason) => Err(Error::InvalidKey { key: text, reason }),
            None => Ok(Self(text)),
        }
    }

    /// A key made of parts that were checked before.
    pub(crate) fn trusted(text: String) -> Self {
        debug_assert_eq!(check(&text), None, "{text}");
        Self(text)
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whole leading segments of keys; `a/b` covers `a/b/c`, and neither `a/b` nor `a/bc`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(String);

impl Prefix {
    /// Covers every key.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Checks the text; a `/` at its end is allowed and means nothing.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] says what is wrong with it.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.strip_suffix('/').unwrap_or(text);
        Ok(Self(Key::new(text)?.0))
    }

    /// A prefix made of parts that were checked before.
    pub(crate) fn trusted(text: String) -> Self {
        Self(Key::trusted(text).0)
    }

    /// The segments, without a `/` at the end; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part after the prefix and its `/`, when the key is below it.
    pub fn strip<'a>(&self, key: &'a str) -> Option<&'a str> {
        if self.0.is_empty() { Some(key) } else { key.strip_prefix(&self.0)?.strip_prefix('/') }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.0)
    }
}

fn check(text: &str) -> Option<&'static str> {
    if text.len() > LONGEST {
        return Some("it is longer than 800 bytes");
    }
    text.split('/').find_map(check_segment)
}

/// The problem of a segment; `None` for a valid one.
pub(crate) fn check_segment(segment: &str) -> Option<&'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'=');
    if segment.is_empty() {
        Some("a part between slashes is empty")
    } else if segment.starts_with('.') {
        Some("a part starts with a dot")
    } else if segment.len() > 255 {
        Some("a part is longer than 255 bytes")
    } else if !segment.bytes().all(allowed) {
        Some("only letters, digits, `.`, `_`, `-`, `=` and `/` are allowed")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_below_their_root() {
        for good in ["a", "prod.example.com/head", "a/journal/000000000001/000000000000", "x=1/y_2"] {
            assert_eq!(Key::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "/a", "a/", "a//b", "../a", "a/../b", ".tmp/x", "a b", "a\\b", "ä", "a\0"] {
            assert_eq!(Key::new(bad).unwrap_err().code(), "STATE0009", "{bad}");
        }
        assert!(Key::new("a".repeat(256)).is_err());
        assert!(Key::new("a/".repeat(500) + "a").is_err());
    }

    #[test]
    fn prefixes_cover_whole_segments() {
        let prefix = Prefix::new("a/b/").unwrap();
        assert_eq!(prefix.strip("a/b/c"), Some("c"));
        assert_eq!(prefix.strip("a/b"), None);
        assert_eq!(prefix.strip("a/bc/d"), None);
        assert_eq!(Prefix::root().strip("a/b"), Some("a/b"));
    }
}
