//! Clusters that the program made, seen by others: kubeadm and its suite, kubectl, pods on different nodes.
//!
//! Machines are made of namespaces, so these tests need root; without it they fail and say so. They install what they
//! need; `cargo xtask setup` does it ahead.

#![cfg(test)]

mod kubeadm;
#[path = "../machine_nodes/place.rs"]
#[allow(dead_code, reason = "it is shared with the tests of single machines, which use all of it")]
mod place;
mod pods;
