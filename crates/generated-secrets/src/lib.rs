//! The secrets that a cluster needs and that no user supplies: keys, certificate authorities, tokens.
//!
//! They are resources of a built-in provider: planned, created by a step, found again, deleted with the
//! cluster. Their secret parts are stored encrypted in the cluster's state store before the creating step has
//! ended. Other resources use a field of one as [`slipway_resource::Secret::kept`]. A [`Vault`] is the store
//! under a hold; [`GeneratedSecrets`] is the provider over it.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod content;
mod found;
mod kind;
mod provider;
mod readers;
mod session;
mod vault;

pub use found::Found;
pub use kind::{CROSS_CERTIFICATE, ENCRYPTION_CONFIGURATION, ENCRYPTION_KEY, KEYPAIR, TOKEN};
pub use provider::{GeneratedSecrets, NAME};
pub use readers::SEALED_FOR;
pub use vault::Vault;
