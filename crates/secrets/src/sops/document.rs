//! The document: its values in their order, and what SOPS says about it.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use slipway_resource::SecretText;

use super::value::Scalar;
use super::{Syntax, malformed};
use crate::error::Result;

/// A value of a document. Maps keep the order in which they are written.
pub(super) enum Tree {
    Null,
    Scalar(Scalar),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// The metadata of SOPS at the key `sops`; other fields of it are used by SOPS only.
#[derive(Deserialize)]
pub(super) struct Metadata {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) age: Vec<AgeRecipient>,
    pub(super) mac: String,
    pub(super) lastmodified: String,
    #[serde(default)]
    pub(super) mac_only_encrypted: bool,
    #[serde(default)]
    shamir_threshold: u32,
}

#[derive(Deserialize)]
pub(super) struct AgeRecipient {
    pub(super) recipient: String,
    pub(super) enc: String,
}

fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AgeRecipient>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A whole document, read in one go.
struct Whole {
    entries: Vec<(String, Tree)>,
    sops: Option<Metadata>,
}

/// The values, without those of SOPS, and what it says.
pub(super) fn parse(text: &str, syntax: Syntax) -> Result<(Tree, Metadata)> {
    // The message of the parser may quote the document.
    let parsed: Option<Whole> = match syntax {
        Syntax::Yaml => serde_yaml::from_str(text).ok(),
        Syntax::Json => serde_json::from_str(text).ok(),
    };
    let Some(Whole { entries, sops: Some(sops) }) = parsed else {
        return Err(malformed("it does not have the key `sops` with what SOPS writes there"));
    };
    if sops.shamir_threshold > 1 {
        return Err(malformed("its key is divided among several groups of recipients"));
    }
    Ok((Tree::Map(entries), sops))
}

impl Tree {
    /// The value at a path.
    pub(super) fn find(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |tree, step| match tree {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == step).map(|(_, value)| value),
            Self::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    pub(super) fn text(&self) -> Option<SecretText> {
        match self {
            Self::Scalar(scalar) => Some(scalar.text()),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WholeReader)
    }
}

struct WholeReader;

impl<'de> Visitor<'de> for WholeReader {
    type Value = Whole;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Whole, A::Error> {
        let mut whole = Whole { entries: Vec::new(), sops: None };
        while let Some(Key(name)) = access.next_key()? {
            if name != "sops" {
                whole.entries.push((name, access.next_value()?));
            } else if whole.sops.replace(access.next_value()?).is_some() {
                return Err(serde::de::Error::duplicate_field("sops"));
            }
        }
        Ok(whole)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(Scalar::new(if value { "True" } else { "False" })))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(Scalar::new(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(Scalar::new(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar(Scalar::new(value.to_string())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(Scalar::new(value)))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some((Key(name), value)) = access.next_entry()? {
            entries.push((name, value));
        }
        Ok(Tree::Map(entries))
    }
}

/// A key of a map, which in YAML may be a number too.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Tree::deserialize(deserializer)? {
            Tree::Scalar(scalar) => Ok(Self(scalar.as_str().to_owned())),
            _ => Err(serde::de::Error::custom("a key is not text")),
        }
    }
}
