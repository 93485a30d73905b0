//! The names and numbers of the state store.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The top-level prefix that holds host claims, and therefore no cluster.
pub(crate) const HOSTS: &str = "hosts";

/// The name of a cluster: lower-case letters, digits, `-` and `.`, as in a DNS name, at most 253 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterName(String);

impl ClusterName {
    /// Checks the text.
    ///
    /// # Errors
    /// [`Error::InvalidName`] says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(allowed)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let reason = if text.len() > 253 {
            "it is longer than 253 bytes"
        } else if !text.split('.').all(label) {
            "a cluster's name has lower-case letters, digits, `-` and `.`, as a DNS name"
        } else if text == HOSTS {
            "`hosts` is where claims of hosts are kept"
        } else {
            return Ok(Self(text));
        };
        Err(Error::InvalidName { name: text, reason })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Identifies a cluster among those of the same name, in time and across state stores. It is assigned once,
/// when the cluster's head is created, and written into every ownership tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterUid(String);

impl ClusterUid {
    /// A new uid: 128 random bits in hexadecimal.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> Result<Self> {
        Ok(Self(crate::random::hex()?))
    }

    /// Checks the text: 1 to 64 letters, digits and `-`, which every cloud takes as the value of a tag.
    ///
    /// # Errors
    /// [`Error::InvalidName`] says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text))
        } else {
            Err(Error::InvalidName { name: text, reason: "a uid is 1 to 64 letters, digits and `-`" })
        }
    }

    /// The uid as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Identifies a holder: random, new for each takeover.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HolderId(String);

impl HolderId {
    /// A new id.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> Result<Self> {
        Ok(Self(crate::random::hex()?))
    }

    /// An id from text, for tests and models.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0
            }
        }
    };
}

macro_rules! parsed {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                Self::new(text)
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::new(text)
            }
        }
    };
}

text!(ClusterName);
text!(ClusterUid);
text!(HolderId);
parsed!(ClusterName);
parsed!(ClusterUid);

macro_rules! number {
    ($(#[$documentation:meta])* $type:ident) => {
        $(#[$documentation])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $type(pub u64);

        impl $type {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

number! {
    /// Counts takeovers of a cluster; the first holder has 1. It never decreases, not even when the cluster
    /// is deleted.
    Epoch
}
number! {
    /// Counts commits of a cluster; 0 is a cluster that nothing was committed for yet.
    Generation
}
number! {
    /// Counts the segments of one epoch's journal, from 0.
    Sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clusters() {
        for good in ["a", "prod.example.com", "0-a.b"] {
            assert_eq!(ClusterName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "A", "a..b", ".a", "a/b", "hosts", "-a", "a-", "ä", "..", "a_b"] {
            assert!(ClusterName::new(bad).is_err(), "{bad}");
        }
        assert!(ClusterUid::new("").is_err());
        assert!(ClusterUid::new("a/b").is_err());
        assert_ne!(ClusterUid::random().unwrap(), ClusterUid::random().unwrap());
    }
}
