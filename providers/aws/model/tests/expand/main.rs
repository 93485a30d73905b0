//! The expansion of clusters on AWS.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]

mod balancers;
mod families;
mod harness;
mod inside;
mod laws;
mod networks;
mod offline;
mod refusals;
mod rules;
mod snapshots;
