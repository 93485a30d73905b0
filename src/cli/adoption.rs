//! Arguments of the commands that take over clusters of other tools, or export to them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::SpecArguments;
use super::state::ChangeArguments;

#[derive(Debug, Args)]
pub(crate) struct AdoptArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Show what would be taken over, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
}

/// Write the desired resources in the format of another tool.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write a Terraform configuration, with `import` blocks for existing resources.
    ///
    /// Resource types and attributes keep their names. This is useful for providers that use the names of Terraform, such as
    /// `aws`.
    Terraform(TerraformArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TerraformArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Write it without state and credentials: nothing is imported.
    #[arg(long)]
    pub offline: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}
