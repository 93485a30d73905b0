//! Services beside EC2 over HTTP: each kind made, read, changed attribute by attribute and deleted against moto.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "../support.rs"]
mod support;

mod balance;
mod balanced_services;
mod calls;
mod dns;
mod iam;
mod identity;
mod instances;
mod interfaces;
mod interruption;
mod keys;
mod life;
mod malformed;
mod object;
mod routes;
mod trouble;
mod volumes;
