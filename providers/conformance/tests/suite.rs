//! The suite holds providers against the contract; here it is held against providers that break it.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "suite/contract.rs"]
mod contract;
#[path = "suite/process.rs"]
mod process;
#[path = "suite/python.rs"]
mod python;
#[path = "suite/rules.rs"]
mod rules;
