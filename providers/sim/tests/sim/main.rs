//! The simulated cloud through its provider's own interface.

mod cloud;
mod expand;
mod faults;
mod files;
mod harness;
mod machines;
mod speed;
