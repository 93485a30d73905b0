//! The provider for existing machines.
//!
//! A host belongs to an inventory and is claimed there by one cluster at a time. The provider connects by SSH
//! with pinned keys, or to an agent on the host. The agent does the work inside the host, with the types of
//! the node provider. A session asks every host once for all its objects.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(
    clippy::disallowed_methods,
    reason = "the executable beside this one, and agents that the caller has granted"
)]
mod agents;
mod assign;
mod catalog;
mod config;
mod disclosure;
mod error;
mod expand;
mod facts;
mod inventory;
mod preflight;
mod provider;
#[allow(clippy::disallowed_methods, reason = "hosts that the caller has granted")]
mod remote;
mod schema;
mod session;

pub use disclosure::disclosed;
pub use provider::Hosts;
pub use remote::Remote;
pub use schema::{AGENT, CLAIM, HOST};
pub use session::host_of;
