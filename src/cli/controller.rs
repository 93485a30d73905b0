//! Arguments of `slipway controller`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::ReportFormat;
use super::duration::parse_duration;

/// Keep clusters in line with specs in Git: run a controller, look at it, pause it.
#[derive(Debug, Subcommand)]
pub(crate) enum ControllerCommand {
    /// Run a controller in the foreground until it gets SIGTERM.
    ///
    /// It reads specs from folders and Git repositories, plans, and applies plans by the policy of each cluster. SIGHUP lets it
    /// read all sources and plan all clusters now. Several processes with one state store share the clusters.
    Run(RunControllerArguments),
    /// Show sources and clusters as controllers last reported them. Reads the state store only.
    Show(ShowControllerArguments),
    /// Let controllers apply nothing for a cluster. They go on to plan and to report.
    Pause(PauseArguments),
    /// End a pause.
    Resume(ResumeArguments),
    /// Let controllers plan clusters now.
    Request(RequestArguments),
    /// Print what is needed to run a controller as a service.
    Install(InstallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunControllerArguments {
    /// Configuration of the controller (TOML).
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ShowControllerArguments {
    /// Show only this cluster, with details.
    #[arg(value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// How long; without it until `slipway controller resume`.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    pub duration: Option<Duration>,
    /// Why. `slipway plan`, `slipway get clusters` and `slipway controller show` show it to everybody.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
}

#[derive(Debug, Args)]
pub(crate) struct RequestArguments {
    /// Names of clusters.
    #[arg(required = true, num_args = 1.., value_name = "CLUSTER")]
    pub clusters: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("form").required(true))]
pub(crate) struct InstallArguments {
    /// Print a systemd unit that runs this program with these options.
    #[arg(long, group = "form")]
    pub systemd: bool,
    /// Configuration of the controller (TOML). It is checked.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}
