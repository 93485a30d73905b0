//! A simulated cloud in a directory: networks, machines, load balancers, with faults and latency on request.
//!
//! [`Sim`] is the provider. Its cloud is hard enough that an engine's mistake shows: it keeps dependencies, ranges,
//! names and quotas, boots machines, places pods and keeps their disruption budgets, and is shared by processes that
//! may be killed at any moment. Tests look into it, and change it behind an engine's back, through [`inspect`].
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call that fails, never in a loop"
)]

mod calls;
mod clock;
mod cloud;
mod config;
mod error;
mod expand;
pub mod fault;
mod hash;
#[allow(clippy::disallowed_methods, reason = "only tests look into a cloud")]
pub mod inspect;
mod kind;
mod provider;
mod session;

pub use config::{Config, ConfigError, Load, Tail};
pub use provider::Sim;
pub use session::SimSession;
