//! The arguments of the smaller verbs of `slipway node`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::super::ReportFormat;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve one client over standard input and output.
    #[arg(long, conflicts_with = "socket", required_unless_present = "socket")]
    pub stdio: bool,
    /// Serve on this unix socket.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// How the cluster's API is reached.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApiArguments {
    /// The kubeconfig to use.
    #[arg(long, default_value = "/etc/kubernetes/admin.conf", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: PathBuf,
}

/// Bootstrap tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and put it into the cluster.
    Create(TokenCreateArguments),
    /// List the cluster's tokens.
    List(TokenListArguments),
    /// Remove tokens from the cluster.
    Delete(TokenDeleteArguments),
    /// Decide about requests with tokens that are bound to a node's name: approve those of that node, deny all others.
    Approve(TokenApproveArguments),
    /// Print a random token; nothing else knows it.
    Generate,
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArguments {
    /// The token, as abcdef.0123456789abcdef; a random one without.
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// How long it lives, as 24h0m0s; 0 for ever.
    #[arg(long, default_value = "24h0m0s", value_name = "DURATION")]
    pub ttl: String,
    /// What it may be used for.
    #[arg(long, value_name = "USAGES", value_delimiter = ',', default_value = "signing,authentication")]
    pub usages: Vec<String>,
    /// The node that may join with it, and no other. Its request for a certificate waits until `--wait` or
    /// `slipway node token approve` decides about it.
    #[arg(long, value_name = "NAME", conflicts_with = "groups")]
    pub node: Option<String>,
    /// With --node: it is good for one machine, and removed when that has joined.
    #[arg(long, requires = "node")]
    pub once: bool,
    /// With --node: wait until the machine has joined, and decide about its request.
    #[arg(long, requires = "node")]
    pub wait: bool,
    /// The groups of those who use it.
    #[arg(
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        default_value = "system:bootstrappers:kubeadm:default-node-token"
    )]
    pub groups: Vec<String>,
    /// What it is for.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// Print the whole command with which a machine joins.
    #[arg(long)]
    pub print_join_command: bool,
    /// With --print-join-command: the key of uploaded certificates, for a control plane that joins.
    #[arg(long, value_name = "KEY", requires = "print_join_command")]
    pub certificate_key: Option<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArguments {
    /// The form of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenDeleteArguments {
    /// The tokens, or their ids.
    #[arg(required = true, value_name = "TOKEN")]
    pub tokens: Vec<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenApproveArguments {
    /// Go on with those that come until this time is over, as 10m; 0 for ever.
    #[arg(long, value_name = "DURATION")]
    pub follow: Option<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

/// Certificates of this machine.
#[derive(Debug, Subcommand)]
pub(crate) enum CertificatesCommand {
    /// Show when each certificate ends; exits with 2 when one ends within thirty days.
    CheckExpiration(CheckExpirationArguments),
    /// Make certificates anew, with the same names and for the same time, and restart what uses them.
    Renew(RenewArguments),
    /// Write keys and requests that an external CA signs.
    GenerateCsr(GenerateRequestArguments),
    /// Print a random key for uploaded certificates.
    CertificateKey,
}

#[derive(Debug, Args)]
pub(crate) struct CheckExpirationArguments {
    /// The folder of keys and certificates.
    #[arg(long, default_value = "/etc/kubernetes/pki", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cert_dir: PathBuf,
    /// The folder of kubeconfigs.
    #[arg(long, default_value = "/etc/kubernetes", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kubeconfig_dir: PathBuf,
    /// The root of the machine's files.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RenewArguments {
    /// Which: `all`, or names as `node certs check-expiration` has them.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The root of the machine's files.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// Show the plan and change nothing; exits with 2 when something would change.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateRequestArguments {
    /// The configuration: kubeadm's documents.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Where keys and requests of certificates go.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cert_dir: Option<PathBuf>,
    /// Where kubeconfigs without certificates and their requests go.
    #[arg(long, default_value = "/etc/kubernetes", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kubeconfig_dir: PathBuf,
    /// The root of the machine's files.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KubeconfigArguments {
    /// The user's name: the common name of the certificate.
    #[arg(long, value_name = "NAME")]
    pub client_name: String,
    /// The user's groups: the organisations of the certificate.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub org: Vec<String>,
    /// Use this bearer token instead of a certificate.
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// How long it is valid, as 8h.
    #[arg(long, default_value = "8h", value_name = "DURATION")]
    pub validity_period: String,
    /// The configuration: kubeadm's documents; that of the machine without.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The root of the machine's files.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}

/// Configuration documents.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the defaults of a kind of bootstrap.
    Print {
        /// Of which.
        #[arg(value_enum, default_value_t)]
        which: ConfigDefaults,
        /// With the documents of these components, as KubeletConfiguration.
        #[arg(long, value_name = "KINDS", value_delimiter = ',')]
        component_configs: Vec<String>,
    },
    /// Check documents and report every problem.
    Validate {
        /// The documents.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
    /// Write documents of an older version in the newest one.
    Migrate {
        /// The documents as they are.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        old_config: PathBuf,
        /// Where the new ones go; standard output without.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        new_config: Option<PathBuf>,
    },
    /// List or fetch the images of a control plane.
    #[command(subcommand)]
    Images(ImagesCommand),
}

/// Images of a control plane.
#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List them.
    List(ImagesArguments),
    /// Let the container runtime fetch them.
    Pull(ImagesArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImagesArguments {
    /// The configuration: kubeadm's documents.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The version of the control plane.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// The registry of the control plane's images.
    #[arg(long, value_name = "REGISTRY")]
    pub image_repository: Option<String>,
    /// The socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
}

/// Of which bootstrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigDefaults {
    /// `node init`.
    #[default]
    #[value(name = "init-defaults")]
    Init,
    /// `node join`.
    #[value(name = "join-defaults")]
    Join,
    /// `node reset`.
    #[value(name = "reset-defaults")]
    Reset,
    /// kubeadm's upgrade.
    #[value(name = "upgrade-defaults")]
    Upgrade,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// Whose: `kubelet`, or a component as `etcd` or `kube-apiserver`.
    #[arg(default_value = "kubelet", value_name = "COMPONENT")]
    pub component: String,
    /// How many of the last lines.
    #[arg(short = 'n', long, default_value_t = 100, value_name = "LINES")]
    pub tail: usize,
    /// The root of the machine's files.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}
