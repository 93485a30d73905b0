//! The model of a cluster on AWS: resource types, expansion, normalisation. Pure, without calls to AWS.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call that fails, never in a loop"
)]

pub mod catalog;
pub mod expand;
pub mod names;
pub mod normalise;
pub mod offline;
pub mod plan;
mod policy;
pub mod price;
pub mod settings;
pub mod tags;
pub mod types;
