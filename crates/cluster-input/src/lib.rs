//! The cluster as providers receive it: a versioned message of the provider contract, in JSON.
//!
//! [`ClusterInput`] is read leniently. [`ClusterInput::read`] ignores fields that this version does not know and names
//! them; it refuses those that the sender marked as fields that must be understood. [`ClusterInput::to_json`] writes the
//! message with its marks, and [`json_schema`] is the published schema.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod cluster;
mod fields;
pub mod path;
mod read;
mod schema;
pub mod ssh_client;
pub mod value;

pub use cluster::*;
pub use read::{MALFORMED, NOT_UNDERSTOOD, ReadError, Reading, UnknownField};
pub use schema::{file_name, json_schema};
