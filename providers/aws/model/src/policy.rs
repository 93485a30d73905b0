//! IAM policy documents: typed statements, and the grants of each part of a cluster.
//!
//! The grants are those that a kOps cluster of the same spec has: enough for the components to work, and bound to
//! the cluster's own objects by tag conditions wherever the service's authorisation model knows them.

mod document;
mod given;
mod grants;
mod key;
pub(crate) mod part;
mod trust;

pub(crate) use document::{Document, Principal, Statement, Text};
pub(crate) use given::given;
pub(crate) use grants::{Condition, Grants, Scope};
pub(crate) use key::{decrypts, of_key};
pub(crate) use trust::{assumed_by_instances, assumed_by_service_account};
