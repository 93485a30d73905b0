//! The tenant proxy in front of a real etcd.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod api_server;
mod certificates;
mod client;
mod differential;
mod etcd;
mod generate;
mod history;
mod isolation;
mod leases;
mod linear;
mod pki;
mod quota;
mod refused;
mod tenant;
mod upstream;
