//! Everything that a provider executable needs beside the provider itself.
//!
//! ```no_run
//! use std::sync::Arc;
//! use slipway_provider_sdk::{ServeError, ServeOptions, serve};
//! use slipway_resource::Provider;
//!
//! async fn run(provider: Arc<dyn Provider>) -> Result<(), ServeError> {
//!     serve(provider, ServeOptions::from_environment()?).await
//! }
//! ```

#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call over a socket at most"
)]

mod actions;
pub mod cluster;
mod contract;
mod error;
mod matching;
mod options;
mod pages;
mod running;
mod serve;
mod service;
mod sessions;
mod stream;

pub use error::ServeError;
pub use matching::{Candidate, Key, locate};
pub use options::ServeOptions;
pub use running::{Running, Stopped, Ticket};
pub use serve::{serve, serve_until};
pub use stream::serve_stream;
