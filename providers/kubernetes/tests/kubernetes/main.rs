//! The provider against a real API server.

mod allocation;
mod booting;
mod budget;
mod conflict;
mod conformance;
mod etcd;
mod faults;
mod lab;
mod life;
mod nodes;
mod nodes_alone;
mod secret;
mod settings;
