//! The command line of Slipway, as a library for the executable and for tests that stand around it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[allow(clippy::disallowed_methods, reason = "whether the endpoint answers that the policy has granted")]
mod access;
#[allow(clippy::disallowed_methods, reason = "the variables by which pipelines say who runs them")]
mod actor;
mod applying;
mod approving;
mod cli;
#[allow(clippy::disallowed_methods, reason = "files and folders that arguments name")]
mod commands;
mod composition;
#[allow(clippy::disallowed_methods, reason = "the user's own file")]
mod configuration;
mod confirming;
#[allow(clippy::disallowed_methods, reason = "the lines of specs that were read")]
mod error;
#[allow(clippy::disallowed_methods, reason = "files that arguments name")]
mod files;
mod health;
mod holding;
#[allow(clippy::disallowed_methods, reason = "the machine that the command runs on")]
mod node;
#[allow(clippy::disallowed_methods, reason = "the width of the terminal")]
mod output;
#[allow(clippy::disallowed_methods, reason = "a plan that an argument names")]
mod plan_source;
mod planning;
#[allow(clippy::disallowed_methods, reason = "the variable that names the configuration")]
mod program;
mod protection;
mod providers;
mod recorded;
mod secrets;
mod specs;
mod subject;
mod trust;
mod ui;
mod upgrade;
mod version_change;

pub use cli::command;
pub use program::{DecorateBackend, Program};
