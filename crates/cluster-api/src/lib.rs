//! The client for a cluster's API. Providers, gates of nodes and node commands use it, so that there is one place that
//! decides how a server is trusted, as whom it is called, and at which addresses it may be.
//!
//! It sends requests and returns answers. What an answer means is decided by the caller.

mod client;
mod error;
mod kubeconfig;
mod server;
mod tls;

pub use client::{Client, Reply};
pub use error::{Failure, Unusable};
pub use kubeconfig::KubeconfigText;
pub use server::{Credentials, Server, Trust};
pub use tls::configuration;
