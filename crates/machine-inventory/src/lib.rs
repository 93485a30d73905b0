//! `slipway-machine-inventory`: a Cluster API infrastructure provider over an inventory of registered hosts.
//!
//! - [`api`] has the kinds, with the fields of Elemental's provider; [`crds`] and [`manifest`] install them.
//! - The manager ([`program`]) reconciles clusters, machines, hosts and registrations. Decisions are pure ([`election`],
//!   [`selector`], [`addresses`]); every write names the version of the object that it was decided on.
//! - Hosts register at the [`server`]; [`agent`] is the program on a host.

pub mod addresses;
pub mod agent;
pub mod api;
pub mod arguments;
mod clusters;
pub mod conditions;
mod context;
mod control;
pub mod core_api;
pub mod crds;
pub mod election;
mod endpoint;
mod host;
mod hosts;
pub mod keys;
pub mod labels;
mod machines;
pub mod manifest;
mod metrics;
pub mod program;
mod registrations;
pub mod selector;
pub mod server;
pub mod token;
pub mod workload;
pub mod world;
pub mod writing;
