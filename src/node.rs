//! The inside of one machine, from the command line: the same engine as for clusters, with the node's own resources.

pub(crate) mod api;
pub(crate) mod cri;
pub(crate) mod facts;
pub(crate) mod phases;
pub(crate) mod preflight;
pub(crate) mod secrets;
pub(crate) mod spec;
