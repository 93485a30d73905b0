//! Paths into a value: `template.volumes[0].size`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field of an object or a key of a map.
    Key(String),
    /// A position in a list.
    Index(usize),
}

/// Steps from the root of a resource's attributes to one value; empty is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Segment>);

/// A text that is no path.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not an attribute path such as a.b[0].c")]
pub struct PathError {
    /// The text as given.
    pub text: String,
}

impl Path {
    /// The path of the whole value.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// A path of one key.
    #[must_use]
    pub fn key(key: impl Into<String>) -> Self {
        Self(vec![Segment::Key(key.into())])
    }

    /// This path, one key further.
    #[must_use]
    pub fn child(&self, key: impl Into<String>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    /// This path, one list position further.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    fn with(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        Self(segments)
    }

    /// The steps, outermost first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether `self` is `other` or below it.
    #[must_use]
    pub fn starts_with(&self, other: &Path) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if is_plain(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(formatter, "{dot}{key}")?;
                }
                Segment::Key(key) => write!(formatter, "[{}]", serde_json::Value::from(key.as_str()))?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PathError { text: text.to_owned() };
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (segment, after) = bracketed(inner).ok_or_else(error)?;
                segments.push(segment);
                rest = after;
            } else {
                let start =
                    if segments.is_empty() { rest } else { rest.strip_prefix('.').ok_or_else(error)? };
                let end = start.find(['.', '[']).unwrap_or(start.len());
                let key = start.get(..end).filter(|key| is_plain(key)).ok_or_else(error)?;
                segments.push(Segment::Key(key.to_owned()));
                rest = start.get(end..).unwrap_or_default();
            }
        }
        Ok(Self(segments))
    }
}

/// Reads `0]…` or `"key"]…`; returns the segment and what follows the bracket.
fn bracketed(text: &str) -> Option<(Segment, &str)> {
    if text.starts_with('"') {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let key = stream.next()?.ok()?;
        let after = text.get(stream.byte_offset()..)?.strip_prefix(']')?;
        return Some((Segment::Key(key), after));
    }
    let (digits, after) = text.split_once(']')?;
    Some((Segment::Index(digits.parse().ok()?), after))
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_path_are_the_same() {
        for text in ["", "a", "a.b", "a[0].b", "tags[\"a.b/c\"]", "[1]"] {
            assert_eq!(text.parse::<Path>().unwrap().to_string(), text);
        }
        for text in [".a", "a..b", "a[", "a[x]", "a b"] {
            assert!(text.parse::<Path>().is_err(), "{text}");
        }
    }
}
