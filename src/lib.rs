//! The command line of Slipway, as a library for the executable and for tests that stand around it.

mod applying;
mod cli;
mod commands;
mod configuration;
mod error;
mod output;
mod planning;
mod program;
mod providers;
mod secrets;
mod specs;
mod ui;
mod upgrade;

pub use cli::command;
pub use program::{DecorateBackend, Program};
