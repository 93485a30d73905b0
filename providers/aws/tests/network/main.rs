//! Networks over HTTP: each kind made, read, changed and deleted against moto.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "../support.rs"]
mod support;

mod accounts;
mod adopt;
mod balancers;
mod life;
mod preflight;
mod trouble;
