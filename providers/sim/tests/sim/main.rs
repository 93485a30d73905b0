//! The simulated cloud through its provider's own interface.

mod cloud;
mod expand;
mod harness;
