//! The secrets that a cluster needs and nobody supplies: keys, certificate authorities, tokens.
//!
//! They are resources like any other, of a provider that is built in: planned, made by a step, found again, deleted with
//! the cluster. What is secret of them lies sealed in the cluster's state store before the step that made it has ended.
//! Other resources use a field of one as [`slipway_resource::Secret::kept`]. A [`Vault`] is the store under a hold;
//! [`Builtin`] is the provider over it.

mod content;
mod found;
mod kind;
mod provider;
mod session;
mod vault;

pub use found::Found;
pub use kind::{ENCRYPTION_KEY, KEYPAIR, TOKEN};
pub use provider::{Builtin, NAME};
pub use vault::Vault;
