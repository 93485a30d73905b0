//! The command line of Slipway, as a library for the executable and for tests that stand around it.

mod access;
mod actor;
mod applying;
mod approving;
mod cli;
mod commands;
mod composition;
mod configuration;
mod confirming;
mod error;
mod files;
mod health;
mod holding;
mod node;
mod output;
mod plan_source;
mod planning;
mod program;
mod providers;
mod recorded;
mod secrets;
mod specs;
mod subject;
mod ui;
mod upgrade;

pub use cli::command;
pub use program::{DecorateBackend, Program};
