//! The owner of a resource, and the identity that its provider gave to it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Address;

macro_rules! text_newtype {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a text.
            #[must_use]
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

text_newtype! {
    /// The provider's identity of a resource (an ARN, an id): assigned by the provider, opaque to the engine.
    Identity
}

text_newtype! {
    /// The unique id of a cluster, assigned when its head is created. A later cluster of the same name has
    /// another id.
    ClusterUid
}

text_newtype! {
    /// Idempotency token of one step: a repeated call with the same token has one effect.
    Token
}

/// The tags written by the call that creates a resource. Discovery finds the resource by them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ownership {
    /// The cluster's unique id.
    pub uid: ClusterUid,
    /// The cluster's name, for messages.
    pub cluster: String,
    /// The resource's address in that cluster.
    pub address: Address,
}
