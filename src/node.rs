//! The inside of one machine, from the command line: the same engine as for clusters, with the node's own resources.

pub(crate) mod access;
pub(crate) mod api;
pub(crate) mod approval;
pub(crate) mod authority;
pub(crate) mod begin;
pub(crate) mod boot;
pub(crate) mod cluster_info;
pub(crate) mod cri;
pub(crate) mod discovery;
pub(crate) mod documents;
pub(crate) mod facts;
pub(crate) mod identity;
pub(crate) mod invite;
pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod machine;
pub(crate) mod phases;
pub(crate) mod plannable;
pub(crate) mod preflight;
pub(crate) mod secrets;
pub(crate) mod settings;
pub(crate) mod spec;
pub(crate) mod upload;
pub(crate) mod work;
