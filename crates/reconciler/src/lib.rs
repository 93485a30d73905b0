//! The GitOps reconciler: reads specs from sources, plans, applies by a policy for each cluster, and reports.
//!
//! It is the library of operations in a loop; there is no second engine. A [`Controller`] is made of a [`Configuration`]
//! and an `Environment`. Its jobs run on one thread, so it runs inside of a `tokio::task::LocalSet` or `block_on`. Specs are parsed,
//! clusters and pull requests are planned, and plans are carried out on threads beside it.
//!
//! | part | module |
//! | --- | --- |
//! | what the operator writes | [`configuration`] |
//! | reading folders, Git repositories, buckets, and artifacts of registries and of Flux | [`source`] |
//! | whether a plan may be applied now | [`policy`], and `order` for the clusters that come before |
//! | what is stored: pauses and requests, replicas, statuses | [`board`], [`members`], [`status`] |
//! | one look at one cluster | `pass` |
//! | webhooks, which let a source be looked at now | `webhooks` |
//! | watches of objects that sources name, which do the same | `watches` |
//! | reviews of pull requests | `reviews` |
//! | what notifications say | `notify` |
//! | what is looked at when | `entry`, `controller` |
//! | the objects that run it in a cluster | `manifest` |
//! | the objects that show clusters and take requests | [`objects`] |
//! | archives of plans that wait, for Flux | `plan_archive` |
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod board;
pub mod configuration;
mod controller;
mod entry;
mod error;
mod facts;
mod heads;
mod job;
mod manifest;
pub mod members;
mod metrics;
mod notify;
pub mod objects;
mod order;
mod ownership;
mod pass;
mod plan_archive;
pub mod policy;
mod reviews;
mod shared;
pub mod source;
pub mod status;
mod systemd;
mod threads;
mod units;
mod watches;
mod webhooks;

pub use configuration::Configuration;
pub use controller::{Controller, Handle};
pub use error::Error;
pub use facts::Facts;
pub use manifest::Manifest;
pub use slipway_controller::stop_on_two_signals;
pub use systemd::unit as systemd_unit;
