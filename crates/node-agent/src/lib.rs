//! The agent of one machine: makes it a node, keeps it one, and takes it out of its cluster, with the engine that clusters have
//! and the resources of the node.
//!
//! [`machine`] opens the machine with its own state. [`begin`], [`join`] and [`leave`] find out what a plan needs. [`work`] makes
//! the task that a [`Caller`] plans, shows and carries out. [`boot`] does all of this without a person on a machine that a cloud
//! started, and [`identity`] is the endpoint at which such machines get the credential of their node. The crate reads no
//! arguments and prints nothing.

mod access;
pub mod api;
pub mod approval;
mod authority;
pub mod begin;
pub mod boot;
mod caller;
pub mod cluster_info;
pub mod code;
pub mod cri;
pub mod discovery;
pub mod documents;
mod error;
pub mod facts;
pub mod identity;
pub mod invite;
pub mod join;
pub mod leave;
pub mod machine;
mod phases;
mod plannable;
pub mod preflight;
pub mod secrets;
pub mod spec;
mod upload;
pub mod work;

pub use caller::Caller;
pub use error::{Cause, Error, Problem};
pub use phases::Selection;
pub use plannable::{CLEANUP, Released};
