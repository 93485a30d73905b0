//! `slipway node` on real machines: real kubelets, containers, etcd and API servers, and kubeadm as the witness.
//!
//! Machines are made of namespaces, so these tests need root; without it they fail and say so. They install what they
//! need; `cargo xtask setup` does it ahead.

#![cfg(test)]

mod boot;
mod crash;
mod foreign;
mod interop;
mod life;
mod phases;
mod place;
mod preflight;
mod tokens;
mod trust;
