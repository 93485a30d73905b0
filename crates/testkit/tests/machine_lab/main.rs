//! The laboratory: instances of the emulator are machines, and what AWS has around machines is there.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "what fails in a test ends it; times are told")]

mod balancers;
mod groups;
mod instances;
mod metadata;
mod support;
mod volumes;
