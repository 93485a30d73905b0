//! Spec documents: strict loading with positions, versions, defaults, validation, documentation.
//!
//! [`load()`] turns files into [`model::Cluster`]s with everything that is wrong in them; [`load_with`] does so with
//! further [`reader::Reader`]s for foreign documents.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod contract;
pub mod diagnostic;
mod environment;
pub mod explain;
pub mod leaves;
pub mod load;
pub mod model;
pub mod reader;
pub mod releases;
mod renamed;
pub mod schema;
pub mod shape;
pub mod show;
pub mod source;
pub mod stored;
pub mod structure;
pub mod template;
pub mod v1alpha1;
pub mod validate;
pub mod yaml;

pub use explain::explain;
pub use leaves::leaves;
pub use load::{Guard, Loaded, load, load_files, load_guarded, load_with};
pub use schema::schemas;
pub use show::{brief_yaml, full_yaml, written_yaml};
pub use slipway_cluster_input::value;
