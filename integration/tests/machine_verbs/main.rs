//! The smaller verbs of `slipway node`, on real machines, with kubeadm as the witness.
//!
//! Machines are made of namespaces, so these tests need root.

#![cfg(test)]

mod cluster;
mod image;
mod place;
