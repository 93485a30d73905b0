//! Comparisons of this crate with kubeadm, in both directions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod accepted;
mod certificates;
mod discovery;
mod documents;
mod dry_run;
mod kubeconfigs;
mod laws;
mod placed;
mod profiles;
mod support;
mod virtual_address;
