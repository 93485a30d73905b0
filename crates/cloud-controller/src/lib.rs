//! `slipway-cloud-controller`: the cloud controller manager of every provider that declares `instances`.
//!
//! It keeps the behaviour of the controllers of `k8s.io/cloud-provider`. New nodes are initialised ([`initialise`]),
//! addresses are refreshed, and the Node of an instance that does not exist any more is deleted ([`lifecycle`]).
//! Services get load balancers ([`services`]), and nodes get ranges for their pods ([`ipam`]) and routes to them ([`routes`]).
//! Everything about the cloud is asked of the provider ([`cloud`]).

#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call to a cloud at most"
)]

pub mod addresses;
pub mod arguments;
mod backoff;
pub mod balanced_nodes;
mod chosen;
pub mod cidr;
pub mod cloud;
mod configuration;
mod context;
pub mod initialise;
pub mod ipam;
pub mod lifecycle;
mod metrics;
mod node;
mod nodes;
pub mod program;
pub mod routes;
pub mod services;
mod writing;
