//! A provider and its client: over a socket, and over any stream.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod common;
mod contract;
mod stream;
