//! The address of a resource: its type and its name.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Type and name of a resource, written `type.name`; unique within one cluster.
///
/// The type has no dot; the name may have some. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    kind: Arc<str>,
    name: Arc<str>,
}

/// An address that does not have the form `type.name`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not an address of the form type.name")]
pub struct AddressError {
    /// The text as given.
    pub text: String,
}

impl Address {
    /// Makes an address of a type and a name; neither is checked against any schema.
    #[must_use]
    pub fn new(kind: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { kind: kind.into(), name: name.into() }
    }

    /// The resource type, as `sim_network`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name within the type.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.kind, self.name)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('.') {
            Some((kind, name)) if is_type(kind) && is_name(name) => Ok(Self::new(shared_kind(kind), name)),
            _ => Err(AddressError { text: text.to_owned() }),
        }
    }
}

thread_local! {
    /// The types of the addresses that were read last, by their hash: a state has many addresses of few types.
    static KINDS: RefCell<[Option<Arc<str>>; KIND_PLACES]> = const { RefCell::new([const { None }; KIND_PLACES]) };
}

/// How many types a thread remembers at most.
const KIND_PLACES: usize = 64;

/// The text of a type, shared with an earlier address of this thread where it has the same type.
fn shared_kind(kind: &str) -> Arc<str> {
    let place =
        kind.bytes().fold(kind.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    let shared = KINDS.try_with(|kinds| {
        let mut kinds = kinds.try_borrow_mut().ok()?;
        let known = kinds.get_mut(place % KIND_PLACES)?;
        if known.as_deref() != Some(kind) {
            *known = Some(kind.into());
        }
        known.clone()
    });
    // Without the memory, as at the end of a thread, nothing is shared.
    shared.ok().flatten().unwrap_or_else(|| kind.into())
}

fn is_type(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '{' | '}' | '$'))
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_first_dot() {
        let address: Address = "sim_record.api.example.com".parse().unwrap();
        assert_eq!((address.kind(), address.name()), ("sim_record", "api.example.com"));
        assert_eq!(address.to_string(), "sim_record.api.example.com");
    }

    #[test]
    fn addresses_share_the_text_of_their_type() {
        let [one, other] = ["sim_record.a", "sim_record.b"].map(|text| text.parse::<Address>().unwrap());
        assert!(Arc::ptr_eq(&one.kind, &other.kind));
        assert_ne!("sim_disk.a".parse::<Address>().unwrap().kind(), one.kind());
    }

    #[test]
    fn refuses_what_has_no_type_or_name() {
        for text in ["", "sim_network", ".a", "sim_network.", "sim network.a", "sim.a b"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
