//! The command line of Slipway, as a library for the executable and for tests.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(clippy::disallowed_methods, reason = "the variables by which pipelines say who runs them")]
mod actor;
mod cli;
mod code;
#[allow(clippy::disallowed_methods, reason = "files and folders that arguments name")]
mod commands;
#[allow(clippy::disallowed_methods, reason = "the user's own file")]
mod configuration;
mod deciding;
#[allow(clippy::disallowed_methods, reason = "the user's own cache")]
mod download;
mod error;
#[allow(clippy::disallowed_methods, reason = "files that arguments name")]
mod files;
#[allow(clippy::disallowed_methods, reason = "the user's own keys")]
mod keys;
#[allow(clippy::disallowed_methods, reason = "the machine that the command runs on")]
mod node;
#[allow(clippy::disallowed_methods, reason = "the width of the terminal")]
mod output;
#[allow(clippy::disallowed_methods, reason = "a plan that an argument names")]
mod plan_source;
#[allow(clippy::disallowed_methods, reason = "policies that the configuration and arguments name")]
mod policies;
#[allow(clippy::disallowed_methods, reason = "the variable that names the configuration")]
mod program;
mod specs;
#[allow(
    clippy::disallowed_methods,
    reason = "the variables of OpenTelemetry, and the receiver that they name"
)]
mod traces;
mod ui;
mod unplanned;

pub use cli::command;
pub use program::{DecorateBackend, Program};
