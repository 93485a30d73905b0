//! The simulated cloud through its provider's own interface.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod cloud;
mod expand;
mod faults;
mod files;
mod harness;
mod machines;
mod speed;
