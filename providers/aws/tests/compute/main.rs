//! Machines over HTTP: templates, disks and auto-scaling groups, made, changed and rolled against moto.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "../services/life.rs"]
mod life;
#[path = "../support.rs"]
mod support;

mod cluster_api;
mod group;
mod machine;
mod nodes;
mod roll;
