//! Arguments of `slipway policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Test policies over plans.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Run the tests of policy files, or check a plan with their policies.
    Test(PolicyTestArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTestArguments {
    /// Policy files (YAML).
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Check this plan instead of running the tests: the output of `slipway plan -o json`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
}
