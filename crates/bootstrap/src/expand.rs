//! Phases made into the resources that they consist of.

mod facts;

pub use facts::{Facts, InitSystem};
