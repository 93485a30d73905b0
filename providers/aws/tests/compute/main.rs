//! Machines over HTTP: templates, disks and auto-scaling groups, made, changed and rolled against moto.

#[path = "../services/life.rs"]
mod life;
#[path = "../support.rs"]
mod support;

mod cluster_api;
mod group;
mod machine;
mod roll;
