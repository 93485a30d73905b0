//! The operations on the simulated cloud, called as a controller calls them: no terminal, no process of the program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

mod applying;
mod interrupted;
mod planning;
mod recorded;
mod refusing;
mod world;
