//! The node-local balancer: every client on a node reaches any healthy API server through one loopback address.
//!
//! It forwards TCP connections and does not end TLS. Its members are the control planes in its settings, and those that the
//! cluster itself lists. It needs no API to start.

mod discover;
mod forward;
mod members;
mod probe;
mod serve;
mod settings;

pub use serve::serve_api_balancer;

pub(crate) use settings::Settings;
