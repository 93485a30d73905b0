//! AWS as a provider of Slipway: sessions with accounts, observation, and actions. `slipway-aws-model` has
//! the model of a cluster, and does not depend on the SDK.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call over a socket at most"
)]

mod act;
mod batch;
mod catalog;
mod clients;
mod cloud;
mod code;
mod config;
mod error;
mod kind;
mod known;
mod late;
mod look;
mod owner;
mod peers;
mod preflight;
mod provider;
mod rate;
mod resolver;
mod session;

pub use provider::Aws;
