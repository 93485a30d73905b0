//! What kubeadm says of what this crate makes, and the other way round.

mod certificates;
mod support;
