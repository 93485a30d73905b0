//! Entering a host by SSH.

mod fingerprint;
mod ssh;

pub(crate) use ssh::{Failure, Ssh};
