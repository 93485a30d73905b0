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
    /// It reads specs from its sources, plans, and applies plans by the policy of each cluster. It shows on pull requests what a
    /// merge would do. SIGHUP lets it read all sources now, and then plan all clusters. Several processes with one state store
    /// share the clusters.
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
    /// Show the clusters of this source by their waves, and what each wave waits for.
    #[arg(long, value_name = "SOURCE", conflicts_with = "cluster")]
    pub waves: Option<String>,
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
    #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
    pub duration: Option<Duration>,
    /// Why. `slipway plan`, `slipway get clusters` and `slipway controller show` show it to everybody.
    #[arg(long, value_name = "TEXT", value_parser = one_line)]
    pub reason: String,
}

/// A time that is not nothing: a pause without one ends at once.
fn some_time(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration.is_zero() { Err("a pause of no time has no effect".to_owned()) } else { Ok(duration) }
}

/// A text that says something, in one line: it is shown inside of other lines.
fn one_line(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err("write a reason, in one line".to_owned());
    }
    Ok(text.to_owned())
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
    /// Print a manifest for `kubectl apply` that runs a controller in a Kubernetes cluster.
    #[arg(long, group = "form", requires = "image")]
    pub kubernetes: bool,
    /// Print the definitions of the kinds of objects, for a controller that has objects in a cluster in which it does not run.
    #[arg(long, group = "form")]
    pub definitions: bool,
    /// Image with `slipway` and the executables of the providers in its PATH, and `git` for sources in Git.
    #[arg(long, value_name = "IMAGE", requires = "kubernetes", value_parser = reference)]
    pub image: Option<String>,
    /// Namespace of the controller. The manifest creates it.
    #[arg(long, default_value = "slipway", value_name = "NAME", requires = "kubernetes", value_parser = label)]
    pub namespace: String,
    /// Number of replicas in the cluster.
    #[arg(
        long,
        default_value_t = 2,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u16).range(1..=100),
        requires = "kubernetes"
    )]
    pub replicas: u16,
    /// Configuration of the controller (TOML). It is checked. `--definitions` needs none.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "definitions")]
    pub file: Option<PathBuf>,
}

/// The name of a namespace, which is a DNS label.
fn label(text: &str) -> Result<String, String> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = !text.is_empty() && text.len() <= 63 && text.bytes().all(is_inner);
    if is_label && !text.starts_with('-') && !text.ends_with('-') {
        return Ok(text.to_owned());
    }
    Err("write up to 63 lower-case letters, digits and hyphens, as in `slipway`".to_owned())
}

/// The reference of an image. Runtimes check the rest.
fn reference(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text.to_owned());
    }
    Err("write a reference without spaces, as in `registry.example.com/slipway:1.0`".to_owned())
}
