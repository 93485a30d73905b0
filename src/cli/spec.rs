//! Writing specs and looking at them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ReportFormat, SpecArguments};

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The cluster's name.
    #[arg(default_value = "example", value_name = "NAME")]
    pub name: String,
    /// The file to write; `-` for standard output. An existing file is not touched.
    #[arg(short, long, default_value = "cluster.yaml", value_name = "FILE")]
    pub output: PathBuf,
    /// How large the cluster begins.
    #[arg(long, value_enum, default_value_t, value_name = "SHAPE")]
    pub shape: InitShape,
}

/// How large a new cluster begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitShape {
    /// One control plane, one pool of workers.
    #[default]
    Minimal,
    /// Three control planes in three zones, private nodes.
    Ha,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The field, as `cluster.spec.network`.
    #[arg(value_name = "PATH")]
    pub path: String,
}

/// Look at specs.
#[derive(Debug, Subcommand)]
pub(crate) enum SpecCommand {
    /// Show a spec with everything that is left to defaults.
    Show(SpecShowArguments),
    /// Check specs and report every problem.
    Check(SpecCheckArguments),
    /// Write specs of kOps as documents of Slipway's own.
    ///
    /// The documents say no more than they must; a value that kOps has as its default and Slipway has not is marked.
    /// Both forms plan the same resources. What changed on the way goes to standard error.
    Convert(SpecConvertArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SpecShowArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// With all defaults, marked as such.
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
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}
