//! The arguments of the verbs that look at running clusters.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::{ClusterArguments, ReportFormat};

/// Parses a time span as `90s`, `15m`, `8h`.
fn span(text: &str) -> Result<Duration, String> {
    let span: slipway_spec::value::Duration =
        text.parse().map_err(|error: slipway_spec::value::Malformed| format!("{error}; {}", error.hint))?;
    Ok(span.get())
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Wait this long for the cluster to be healthy, as 10m.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub wait: Option<Duration>,
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct KubeconfigArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// As whom to enter; who calls unless given.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// The user's groups; administrators of the cluster unless given.
    #[arg(long = "group", value_name = "NAME")]
    pub groups: Vec<String>,
    /// How long the credentials are good for, as 8h; nobody can take them back before.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "8h")]
    pub valid_for: Duration,
    /// Write it to this file, readable by its owner only, instead of standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Merge it into that file, or into ~/.kube/config, and make it the current context.
    #[arg(long)]
    pub merge: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NodeLogsArguments {
    /// The node.
    #[arg(value_name = "NODE")]
    pub node: String,
    /// What of it: `kubelet`, or a component such as kube-apiserver.
    #[arg(value_name = "COMPONENT", default_value = "kubelet")]
    pub component: String,
    /// How many lines, the last ones.
    #[arg(long, value_name = "LINES", default_value_t = 200)]
    pub tail: usize,
    /// The cluster's name in the state, where the node's name is in several.
    #[arg(long, value_name = "CLUSTER")]
    pub in_cluster: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SupportBundleArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// The folder to write; it must not exist. CLUSTER-support unless given.
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}
