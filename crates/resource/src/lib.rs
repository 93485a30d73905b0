//! Values, schemas, typed diff and the provider trait: the common types of all other crates.
//!
//! A [`Desired`] resource comes from a spec, an [`Observed`] one from a provider. Both have a [`Value`] that
//! follows the provider's [`Schema`]; [`diff::diff`] compares them by that schema. Providers implement
//! [`Provider`] and [`Session`].
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
pub mod diff;
mod digest;
mod error;
pub mod form;
pub mod normalised;
mod origins;
mod ownership;
pub mod path;
pub mod pattern;
pub mod provider;
mod resource;
pub mod schema;
mod secret;
pub mod validate;
pub mod value;

pub use address::{Address, AddressError};
pub use digest::{Digest, hexadecimal};
pub use error::{ErrorClass, ProviderError, with_causes};
pub use form::Form;
pub use origins::Origins;
pub use ownership::{ClusterUid, Identity, Ownership, Token};
pub use path::{Path, Segment};
pub use provider::{Provider, Session};
pub use resource::{Desired, Lifecycle, Moved, Observation, Observed, Turn};
pub use schema::{Attribute, Mode, Names, ResourceType, Schema, Type};
pub use secret::{Secret, SecretText};
pub use value::{Entries, RangePart, Reference, TemplatePart, Value};
