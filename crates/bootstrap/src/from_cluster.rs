//! A cluster of Slipway's specs on machines that exist already: what each of them must look like.

mod machine;

pub use machine::{Machine, Placement};
