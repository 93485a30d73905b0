//! `slipway-token-controller`: bootstrap tokens of clusters whose kube-controller-manager runs without `bootstrapsigner` and
//! `tokencleaner`.
//!
//! - [`signing`]: the ConfigMap `cluster-info` has a signature for each token that may sign.
//! - [`expiry`]: a token is deleted when its time is over.
//!
//! Both are pure. [`program`] watches the objects and writes them; [`manifest`] installs it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod arguments;
mod control;
mod error;
pub mod expiry;
pub mod manifest;
mod metrics;
pub mod program;
pub mod signing;

pub use error::Error;
