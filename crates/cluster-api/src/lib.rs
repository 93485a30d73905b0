//! The client for a cluster's API. Providers, gates of nodes and node commands use it, so that one place
//! decides how a server is trusted, which credentials it gets, and at which addresses it may be.
//!
//! It sends requests and returns answers. The caller decides what an answer means. [`https`] reads documents that are no part
//! of an API.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod client;
mod error;
pub mod https;
mod kubeconfig;
mod server;
mod tls;

pub use client::{Client, Reply};
pub use error::{Failure, Unusable};
pub use kubeconfig::KubeconfigText;
pub use server::{Credentials, Server, Trust};
pub use tls::configuration;
