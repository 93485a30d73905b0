//! Arguments of the commands about running clusters.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::duration::parse_duration;
use super::{ClusterArguments, ReportFormat};

#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Wait until the cluster is healthy, at most this long, such as 10m.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait: Option<Duration>,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct KubeconfigArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// User name in the credentials; by default that of the caller.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Groups in the credentials; by default that of cluster administrators.
    #[arg(long = "group", value_name = "NAME")]
    pub groups: Vec<String>,
    /// Validity of the credentials, such as 8h. They cannot be revoked earlier.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "8h")]
    pub valid_for: Duration,
    /// Write to this file instead of standard output. Only its owner can read it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Merge into the file of `--out`, or into ~/.kube/config, and make it the current context.
    #[arg(long)]
    pub merge: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Print only this value, without its name.
    #[arg(long, value_enum, value_name = "VALUE")]
    pub only: Option<OutputName>,
    /// Format of the values. JSON also has the settings of pools and the identities of objects.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

/// A value of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputName {
    /// Name of the cluster.
    Cluster,
    /// Unique id of the cluster, as in the ownership tags of its objects.
    Uid,
    /// Generation of the state.
    Generation,
    /// Name of the provider.
    Provider,
    /// Region.
    Region,
    /// Zones, separated by commas.
    Zones,
    /// Version of Kubernetes.
    KubernetesVersion,
    /// URL of the API.
    Endpoint,
    /// Certificates of the authorities of the API, in PEM.
    CertificateAuthority,
}

impl OutputName {
    /// The name of the value in JSON.
    pub fn field(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Uid => "uid",
            Self::Generation => "generation",
            Self::Provider => "provider",
            Self::Region => "region",
            Self::Zones => "zones",
            Self::KubernetesVersion => "kubernetes_version",
            Self::Endpoint => "endpoint",
            Self::CertificateAuthority => "certificate_authority",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct NodeLogsArguments {
    /// Name of the node.
    #[arg(value_name = "NODE")]
    pub node: String,
    /// Component: `kubelet`, or a control plane component such as kube-apiserver.
    #[arg(value_name = "COMPONENT", default_value = "kubelet")]
    pub component: String,
    /// Number of lines, counted from the end.
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 200)]
    pub tail: usize,
    /// Show new lines as they are written, until the command is interrupted.
    #[arg(short = 'f', long)]
    pub follow: bool,
    /// Name of the cluster in the state; needed if several clusters have a node of this name.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SupportBundleArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Folder to write; it must not exist. By default CLUSTER-support.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}
