//! Arguments of the verbs that begin with, or lead to, other tools.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::SpecArguments;
use super::state::ChangeArguments;

#[derive(Debug, Args)]
pub(crate) struct AdoptArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Show what would be taken over, and write nothing; exits with 2 when there is something.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
}

/// Write the wanted resources in the form of another tool.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write a configuration of Terraform, with `import` blocks for what exists.
    ///
    /// Resource types and attributes keep their names: it is of use for providers that name them as Terraform does.
    Terraform(TerraformArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TerraformArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Write it for nothing, without state and credentials: nothing is imported.
    #[arg(long)]
    pub offline: bool,
    /// Write it into this file instead of to standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}
