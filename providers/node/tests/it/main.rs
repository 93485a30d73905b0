//! The provider for a node at work below a root of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod api_balancer;
mod authority_trust;
mod bench;
mod certificates;
mod crash;
mod etcd;
mod etcd_authority;
mod etcd_backup;
mod expansion;
mod files;
mod installed_programs;
mod kubelet_credentials;
mod leftovers;
mod self_hosted;
mod services;
mod static_pods;
mod virtual_address;
