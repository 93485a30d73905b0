//! Arguments of `slipway init`, `slipway explain` and `slipway spec`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ReportFormat, SpecArguments};

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Name of the cluster.
    #[arg(default_value = "example", value_name = "NAME", value_parser = slipway_spec::template::cluster_name)]
    pub name: String,
    /// File to write; `-` writes to standard output. An existing file is never overwritten.
    #[arg(long, default_value = "cluster.yaml", value_name = "FILE")]
    pub out: PathBuf,
    /// Size of the cluster.
    #[arg(long, value_enum, default_value_t, value_name = "SHAPE")]
    pub shape: InitShape,
}

/// Size of a new cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitShape {
    /// One control plane and one pool of workers.
    #[default]
    Minimal,
    /// Three control planes in three zones, and private nodes.
    Ha,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Field of the spec, such as `cluster.spec.network`, or error code, such as `SPEC0042`.
    #[arg(value_name = "FIELD|CODE")]
    pub subject: String,
}

/// Check, show and convert specs.
#[derive(Debug, Subcommand)]
pub(crate) enum SpecCommand {
    /// Print a spec, optionally with all defaults.
    Show(SpecShowArguments),
    /// Check specs and report every problem.
    Check(SpecCheckArguments),
    /// Convert kOps specs to Slipway specs.
    ///
    /// The result contains the fields that differ from Slipway's defaults; a field that is derived, or a default of kOps, is marked.
    /// Both specs plan the same resources. Differences are reported on standard error.
    Convert(SpecConvertArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SpecShowArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Include all defaults, marked as such.
    #[arg(long)]
    pub full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SpecConvertArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SpecCheckArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}
