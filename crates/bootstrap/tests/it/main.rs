//! What kubeadm says of what this crate makes, and the other way round.

mod accepted;
mod certificates;
mod discovery;
mod kubeconfigs;
mod support;
