//! The objects inside a cluster as a provider: any API object by server-side apply, and its nodes.

pub mod access;
pub mod fields;
pub mod object;
pub mod readiness;
